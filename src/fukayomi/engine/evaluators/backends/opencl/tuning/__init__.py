"""The tuner of the OpenCL backend: finds the parameters of the kernels that are the fastest on a device, by measuring.

The sections of the search, its printout and its file of parameters are KataGo's (MIT licence); the code is our own.
``tuner.py`` goes through the sections, ``configurations.py`` has what they try, ``trials.py`` measures on the device,
``printout.py`` tells of it, ``parameter_file.py`` is KataGo's file, ``kept.py`` keeps the results for the backend.
"""
