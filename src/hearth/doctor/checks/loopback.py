"""Where 'localhost' is an IPv6 address only, a JVM told to prefer IPv4 finds no loopback."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem


def _look(machine: Machine) -> Outcome:
    rows = [line.partition("#")[0].split() for line in machine.tree.table("etc/hosts")]
    addresses = [row[0] for row in rows if "localhost" in row[1:]]
    if not addresses:
        machine.tree.choice("etc/hosts", ())
    if any(address.startswith("127.") for address in addresses):
        return Fine("localhost is an IPv4 address")
    return Problem(
        "localhost is an IPv6 address only",
        "/etc/hosts",
        command="a line '127.0.0.1 localhost' in /etc/hosts",
    )


CHECK = Check(
    _look,
    group="network",
    better="127.0.0.1 localhost, beside ::1",
    source="Java: networking properties, java.net.preferIPv4Stack",
    touches="nothing",
)
