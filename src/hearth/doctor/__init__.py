"""What of this machine, of Java and of Spark's settings costs speed or safety, and how to change
it.
"""
