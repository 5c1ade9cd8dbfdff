package io.hearth.affinity;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A network interface or an RDMA adapter.
 *
 * @param kind {@code Ethernet}, {@code InfiniBand}, {@code RoCE}, or {@code software} for one without a
 *     device of its own
 * @param locality where its device is attached; absent for software, and where neither the device nor a bus above
 *     it says so
 * @param up whether it can carry data now; absent where the machine does not say
 * @param speedMbps of its link, in Mbit/s
 * @param below the interfaces that a bond, VLAN or bridge sends through
 * @param defaultRoute whether the machine's default route leads through it
 */
public record Adapter(
        String name,
        String kind,
        Optional<Locality> locality,
        Optional<Boolean> up,
        OptionalLong speedMbps,
        List<String> below,
        boolean defaultRoute) {

    /**
     * Where a device is attached.
     *
     * @param nodes its NUMA nodes; none where only its CPUs are known
     * @param cpus CPUs near it; none where only its node is known
     * @param source what says so, such as {@code numa_node of the bus above, 0000:80:02.0}
     */
    public record Locality(BitSet nodes, BitSet cpus, String source) {}
}
