"""What runs inside of a sandbox. Standard library only and no imports from outside of this folder, so that the folder
alone can be put into any machine that has Python: `python3 -I -S guest/`."""
