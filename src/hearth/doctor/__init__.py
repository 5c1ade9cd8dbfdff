"""Find settings of this machine, of Java and of Spark that cost speed or safety, and how to change
them.
"""
