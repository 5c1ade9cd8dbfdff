package io.hearth.affinity;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/** Reads network interfaces and RDMA adapters (Documentation/ABI/testing/sysfs-class-net, -infiniband). */
public final class AdapterReader {
    private static final String NET = "sys/class/net";
    private static final String RDMA = "sys/class/infiniband";
    private static final String ARPHRD_LOOPBACK = "772";

    private final Tree tree;
    private final BitSet online;
    private final Set<String> defaultRoutes;

    /** @param online all CPUs of the machine: a device that is near all of them has no place */
    public AdapterReader(Tree tree, BitSet online) {
        this.tree = tree;
        this.online = online;
        this.defaultRoutes = defaultRoutes();
    }

    public List<Adapter> read() {
        List<Adapter> adapters = new ArrayList<>();
        for (String name : tree.names(NET)) {
            boolean loopback = name.equals("lo") || is(NET + "/" + name + "/type", ARPHRD_LOOPBACK);
            if (!loopback && tree.resolved(NET + "/" + name).isPresent() && !isFile(name)) adapters.add(network(name));
        }
        for (String name : tree.names(RDMA)) adapters.add(rdma(name));
        return adapters;
    }

    /** Such as {@code bonding_masters}, which stands among the interfaces. */
    private boolean isFile(String name) {
        return tree.line(NET + "/" + name).isPresent();
    }

    private boolean is(String path, String text) {
        return tree.line(path).filter(text::equals).isPresent();
    }

    private Adapter network(String name) {
        String at = NET + "/" + name;
        Optional<String> device = tree.resolved(at + "/device");
        List<String> below = tree.names(at).stream()
                .filter(entry -> entry.startsWith("lower_"))
                .map(entry -> entry.substring("lower_".length()))
                .toList();
        boolean infiniBand = is(at + "/type", "32");
        return new Adapter(
                name,
                device.isEmpty() ? "software" : infiniBand ? "InfiniBand" : "Ethernet",
                device.flatMap(this::locality),
                up(at),
                speed(tree.line(at + "/speed")),
                below,
                defaultRoutes.contains(name));
    }

    /** {@code operstate} is unknown where a driver does not keep it: then the carrier decides. */
    private Optional<Boolean> up(String at) {
        Optional<Boolean> carrier = tree.line(at + "/carrier").map("1"::equals);
        return tree.line(at + "/operstate")
                .flatMap(state -> state.equals("unknown") ? carrier : Optional.of(state.equals("up")));
    }

    private Adapter rdma(String name) {
        String at = RDMA + "/" + name;
        List<String> ports = tree.names(at + "/ports").stream().map(port -> at + "/ports/" + port).toList();
        List<String> active = ports.stream()
                .filter(port -> tree.line(port + "/state").filter(s -> s.startsWith("4:")).isPresent())
                .toList();
        OptionalLong fastest = (active.isEmpty() ? ports : active).stream()
                .mapToLong(port -> rate(tree.line(port + "/rate")).orElse(0))
                .filter(rate -> rate > 0)
                .max();
        boolean ethernet = ports.stream().anyMatch(port -> is(port + "/link_layer", "Ethernet"));
        return new Adapter(
                name,
                ethernet ? "RoCE" : "InfiniBand",
                tree.resolved(at + "/device").flatMap(this::locality),
                ports.isEmpty() ? Optional.empty() : Optional.of(!active.isEmpty()),
                fastest,
                List.of(),
                false);
    }

    private static OptionalLong speed(Optional<String> text) {
        return text.filter(t -> t.matches("[0-9]{1,9}")).map(Long::parseLong).filter(n -> n > 0)
                .map(OptionalLong::of).orElse(OptionalLong.empty());
    }

    /** {@code 100 Gb/sec (4X EDR)}, {@code 2.5 Gb/sec (1X SDR)}. */
    private static OptionalLong rate(Optional<String> text) {
        return text.map(t -> t.split(" ")[0]).filter(t -> t.matches("[0-9]{1,6}(\\.[0-9])?"))
                .map(t -> OptionalLong.of(Math.round(Double.parseDouble(t) * 1000)))
                .orElse(OptionalLong.empty());
    }

    /**
     * The nearest directory from the device upwards that gives a node, else CPUs that are not all: a
     * device's {@code numa_node} is -1 where the firmware names only its bus.
     */
    Optional<Adapter.Locality> locality(String device) {
        List<String> path = upwards(device);
        for (String at : path) {
            Optional<BitSet> node = tree.line(at + "/numa_node")
                    .filter(text -> !text.startsWith("-"))
                    .flatMap(Ids::parse)
                    .filter(ids -> ids.cardinality() == 1);
            if (node.isPresent())
                return Optional.of(new Adapter.Locality(node.get(), new BitSet(), said("numa_node", at, device)));
        }
        for (String at : path) {
            for (String file : cpuLists(at)) {
                Optional<BitSet> cpus = tree.line(file).flatMap(Ids::parse).map(ids -> Ids.and(ids, online));
                if (cpus.isPresent() && !cpus.get().isEmpty() && !cpus.get().equals(online)) {
                    String what = file.substring(file.lastIndexOf('/') + 1);
                    return Optional.of(new Adapter.Locality(new BitSet(), cpus.get(), said(what, at, device)));
                }
            }
        }
        return Optional.empty();
    }

    private List<String> cpuLists(String at) {
        List<String> files = new ArrayList<>(List.of(at + "/local_cpulist"));
        for (String bus : tree.names(at + "/pci_bus")) files.add(at + "/pci_bus/" + bus + "/cpulistaffinity");
        return files;
    }

    private static List<String> upwards(String device) {
        List<String> path = new ArrayList<>();
        for (String at = device; at.contains("/"); at = at.substring(0, at.lastIndexOf('/'))) path.add(at);
        return path;
    }

    private static String said(String file, String at, String device) {
        return at.equals(device) ? "its " + file : file + " of the bus above, " + at.substring(at.lastIndexOf('/') + 1);
    }

    /** Interfaces of the routes to everywhere with the smallest metric. */
    private Set<String> defaultRoutes() {
        Set<String> best = new HashSet<>();
        long min = Long.MAX_VALUE;
        for (String row : tree.line("proc/net/route").orElse("").split("\n")) {
            String[] f = row.trim().split("\\s+");
            boolean everywhere = f.length >= 8 && f[1].equals("00000000") && f[7].equals("00000000");
            if (!everywhere || !f[6].matches("[0-9]{1,10}")) continue;
            long metric = Long.parseLong(f[6]);
            if (metric < min) best.clear();
            if (metric <= min) best.add(f[0]);
            min = Math.min(min, metric);
        }
        return best;
    }
}
