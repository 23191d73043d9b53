"""One thread at a time imports large packages.

Modules of one package that two threads import from different ends wait for each other, and Python breaks that off with
an error in one of them.
"""

from threading import RLock

IMPORTS = RLock()
