package io.hearth.affinity;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The RDMA ports of the network device that communication threads are near to, as UCX names them. */
final class RdmaPorts {
    /** Where the wire (jvm/wire) finds them, which knows nothing else of affinity. */
    static final String PROPERTY = "hearth.network.rdma";

    private static final String NET = "sys/class/net";
    private static final String RDMA = "sys/class/infiniband";

    private RdmaPorts() {}

    /** Such as {@code mlx5_0:1}; none where the device has no RDMA. */
    static List<String> of(Tree tree, NetworkDevice device) {
        return device.lowest().stream()
                .flatMap(name -> tree.names(RDMA).stream().filter(rdma -> isOf(tree, rdma, name)))
                .distinct()
                .flatMap(rdma -> ports(tree, rdma).map(port -> rdma + ":" + port))
                .toList();
    }

    /** Whether an RDMA adapter is this device, or a function of the card whose interface it is. */
    private static boolean isOf(Tree tree, String rdma, String name) {
        Optional<String> card = tree.resolved(NET + "/" + name + "/device");
        return rdma.equals(name)
                || card.isPresent() && tree.resolved(RDMA + "/" + rdma + "/device").equals(card)
                || tree.line(RDMA + "/" + rdma + "/parent").filter(name::equals).isPresent(); // in software
    }

    private static Stream<String> ports(Tree tree, String rdma) {
        String at = RDMA + "/" + rdma + "/ports";
        List<String> all = tree.names(at);
        List<String> active = all.stream()
                .filter(port -> tree.line(at + "/" + port + "/state").filter(s -> s.startsWith("4:")).isPresent())
                .toList();
        return (active.isEmpty() ? all : active).stream();
    }

    /** Names them to this JVM's wire, which then uses no other; the user's own setting of UCX wins there. */
    static void publish(Settings settings) {
        if (!Files.isDirectory(Path.of("/sys/class/infiniband"))) return;
        Tree tree = new LiveTree(Path.of("/"));
        Machine machine = new MachineReader(tree).read(new BitSet());
        List<String> ports = NetworkDevice.choose(machine, settings.device(), settings.peer().flatMap(Agent::carrier))
                .map(device -> of(tree, device))
                .orElse(List.of());
        if (!ports.isEmpty()) System.setProperty(PROPERTY, String.join(",", ports));
    }
}
