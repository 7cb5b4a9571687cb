"""Who goes next. Pure: time and order are arguments."""
