"""AWS EC2: instances that are launched when work is bound to them (`dovetail.backends.machines`), through boto3."""
