"""The program that runs inside a desktop and speaks OSWorld's guest protocol.

It is started with the guest's own Python (``python3 -m guest``) and needs nothing but the standard library and
the Debian packages of the desktop, so the same files serve every backend that makes its own desktop. The host
imports nothing of it but the reader of the pixels.
"""
