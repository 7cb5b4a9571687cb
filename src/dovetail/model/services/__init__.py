"""What users write about services: work that stays up. How it is kept up is `dovetail.services`."""
