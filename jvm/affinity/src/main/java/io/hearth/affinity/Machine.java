package io.hearth.affinity;

import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the policies need to know of a machine. Ids are the kernel's.
 *
 * @param allowed online CPUs that the process may use
 * @param cores the online hardware threads of each core
 * @param packages the online CPUs of each socket
 * @param nodes NUMA nodes in id order
 */
public record Machine(BitSet allowed, List<BitSet> cores, List<BitSet> packages, List<Node> nodes, List<Adapter> adapters) {

    /** @param distances to every node (ACPI SLIT); empty where unknown */
    public record Node(int id, BitSet cpus, Map<Integer, Integer> distances) {}

    Optional<Adapter> adapter(String name) {
        return adapters.stream().filter(adapter -> adapter.name().equals(name)).findFirst();
    }
}
