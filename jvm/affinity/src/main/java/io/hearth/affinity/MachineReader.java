package io.hearth.affinity;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads what the policies need, in a JVM that has nothing else of hearth. */
public final class MachineReader {
    private static final String CPU = "sys/devices/system/cpu";
    private static final String NODE = "sys/devices/system/node";

    private final Tree tree;

    public MachineReader(Tree tree) {
        this.tree = tree;
    }

    /** @param mask CPUs that the process may use, as the kernel says */
    public Machine read(BitSet mask) {
        BitSet online = tree.line(CPU + "/online").flatMap(Ids::parse).orElse(mask);
        return new Machine(
                Ids.and(mask, online),
                together(online, "core_cpus_list", "thread_siblings_list"),
                together(online, "package_cpus_list", "core_siblings_list"),
                nodes(online),
                new AdapterReader(tree, online).read());
    }

    /** CPUs that a file of each names as its own kind; older kernels have it by another name. */
    private List<BitSet> together(BitSet online, String file, String older) {
        Set<BitSet> sets = new LinkedHashSet<>();
        for (int cpu : online.stream().toArray()) {
            String at = CPU + "/cpu" + cpu + "/topology/";
            tree.line(at + file)
                    .or(() -> tree.line(at + older))
                    .flatMap(Ids::parse)
                    .ifPresent(cpus -> sets.add(Ids.and(cpus, online)));
        }
        return new ArrayList<>(sets);
    }

    private List<Machine.Node> nodes(BitSet online) {
        int[] ids = tree.names(NODE).stream()
                .filter(name -> name.matches("node[0-9]{1,5}"))
                .mapToInt(name -> Integer.parseInt(name.substring(4)))
                .sorted()
                .toArray();
        List<Machine.Node> nodes = new ArrayList<>();
        for (int id : ids) {
            BitSet cpus = tree.line(NODE + "/node" + id + "/cpulist").flatMap(Ids::parse).orElseGet(BitSet::new);
            nodes.add(new Machine.Node(id, Ids.and(cpus, online), distances(id, ids)));
        }
        nodes.sort(Comparator.comparingInt(Machine.Node::id));
        return nodes;
    }

    /** One value for each node, in id order; none where the row has another length. */
    private Map<Integer, Integer> distances(int id, int[] ids) {
        String[] values = tree.line(NODE + "/node" + id + "/distance").orElse("").split("\\s+");
        Map<Integer, Integer> distances = new HashMap<>();
        if (values.length != ids.length) return distances;
        for (int i = 0; i < ids.length; i++)
            if (values[i].matches("[0-9]{1,3}")) distances.put(ids[i], Integer.parseInt(values[i]));
        return distances;
    }
}
