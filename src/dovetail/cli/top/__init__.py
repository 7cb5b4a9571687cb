"""`dovetail top`: what it asks the server (`feed`), what keys do (`state`), and the loop that shows it (`screen`)."""
