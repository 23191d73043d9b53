"""What stands between a fresh machine and a program that runs: installing, and where the files that come along lie.

The modules of the installer use the standard library alone, since they run before anything is installed.
"""
