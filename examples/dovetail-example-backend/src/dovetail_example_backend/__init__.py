"""A backend for Dovetail, small enough to read at one sitting: machines that share a folder and fetch work from it."""
