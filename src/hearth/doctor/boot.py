"""The words of the kernel's command line."""

from hearth.doctor.tree import NotSeen, Tree


def boot_words(tree: Tree) -> list[str]:
    """Return the boot options; raise NotSeen, also where the file holds none."""
    words = tree.text("proc/cmdline").split()
    if not words:
        raise NotSeen("could not read /proc/cmdline: it is empty")
    return words
