package io.hearth.affinity;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The network device that communication threads shall be near to.
 *
 * @param name of the adapter chosen
 * @param why it was chosen
 * @param lowest the adapters that it sends through in the end: itself, or those below a bond, VLAN or
 *     bridge
 * @param nodes the NUMA nodes that they are attached to; none where unknown
 * @param cpus CPUs near those of which only that is known
 * @param source what says so
 */
public record NetworkDevice(String name, String why, List<String> lowest, BitSet nodes, BitSet cpus, String source) {

    /**
     * @param wanted the user's choice
     * @param carrier the interface that carries the route to the peer, where there is one
     * @return absent where the machine has no network device
     * @throws Refused where the machine lacks the device that the user wants
     */
    public static Optional<NetworkDevice> choose(Machine machine, Optional<String> wanted, Optional<String> carrier) {
        if (wanted.isPresent())
            return Optional.of(of(machine, machine.adapter(wanted.get())
                    .orElseThrow(() -> new Refused("device '" + wanted.get() + "' is not on this machine: it has "
                            + (machine.adapters().isEmpty() ? "no network device" : names(machine.adapters())))),
                    "asked for"));
        Optional<Adapter> peer = carrier.flatMap(machine::adapter);
        if (peer.isPresent()) return Optional.of(of(machine, peer.get(), "it carries the route to the peer"));
        Optional<Adapter> route = machine.adapters().stream().filter(Adapter::defaultRoute).findFirst();
        if (route.isPresent()) return Optional.of(of(machine, route.get(), "it carries the default route"));
        return machine.adapters().stream()
                .filter(adapter -> !adapter.kind().equals("software") && adapter.up().orElse(true))
                .min(Comparator.comparing((Adapter adapter) -> -adapter.speedMbps().orElse(0))
                        .thenComparing(adapter -> adapter.locality().isEmpty())
                        .thenComparing(Adapter::name))
                .map(adapter -> of(machine, adapter, fastest(adapter)));
    }

    /** The interface that the kernel would send through; a connected datagram socket sends nothing. */
    public static Optional<String> carrier(String peer) throws IOException {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(new InetSocketAddress(InetAddress.getByName(peer), 9));
            return Optional.ofNullable(NetworkInterface.getByInetAddress(socket.getLocalAddress()))
                    .map(NetworkInterface::getName);
        }
    }

    private static String fastest(Adapter adapter) {
        String speed = adapter.speedMbps().isPresent() ? " (" + adapter.speedMbps().getAsLong() + " Mbit/s)" : "";
        String up = adapter.up().isPresent() ? "that is up" : "(whether it is up is not known)";
        return "the fastest " + up + speed;
    }

    private static String names(List<Adapter> adapters) {
        return adapters.stream().map(Adapter::name).collect(Collectors.joining(", "));
    }

    private static NetworkDevice of(Machine machine, Adapter adapter, String why) {
        List<Adapter> lowest = new ArrayList<>();
        descend(machine, adapter, lowest, new LinkedHashSet<>());
        BitSet nodes = new BitSet();
        BitSet cpus = new BitSet();
        Set<String> sources = new LinkedHashSet<>();
        for (Adapter low : lowest) {
            low.locality().ifPresent(locality -> {
                nodes.or(locality.nodes());
                cpus.or(locality.cpus());
            });
            String prefix = low == adapter ? "" : low.name() + ": ";
            sources.add(prefix + low.locality().map(Adapter.Locality::source).orElse("unknown"));
        }
        return new NetworkDevice(adapter.name(), why, lowest.stream().map(Adapter::name).toList(), nodes, cpus,
                String.join("; ", sources));
    }

    /** A capture may name interfaces that it lacks, and damage may make a ring. */
    private static void descend(Machine machine, Adapter adapter, List<Adapter> lowest, Set<String> seen) {
        if (!seen.add(adapter.name())) return;
        List<Adapter> below = adapter.below().stream().flatMap(name -> machine.adapter(name).stream()).toList();
        if (below.isEmpty()) lowest.add(adapter);
        else below.forEach(low -> descend(machine, low, lowest, seen));
    }

    public boolean placed() {
        return !nodes.isEmpty() || !cpus.isEmpty();
    }
}
