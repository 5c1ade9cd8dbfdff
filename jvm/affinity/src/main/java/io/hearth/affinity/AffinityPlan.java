package io.hearth.affinity;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The CPUs of each communication thread: the k-th one to appear gets those of group k, round robin.
 *
 * @param groups never empty, each within what is allowed
 * @param remarks where the machine did not allow the policy as it stands
 */
public record AffinityPlan(Policy policy, Optional<NetworkDevice> device, List<BitSet> groups, List<String> remarks) {

    public BitSet of(long turn) {
        return groups.get((int) Math.floorMod(turn, (long) groups.size()));
    }

    /** A pure function. */
    public static AffinityPlan of(Machine machine, Policy policy, Optional<NetworkDevice> device) {
        return new Making(machine, policy, device).plan();
    }

    /** Allowed CPUs, in the order in which they are taken: nearest first. */
    private static final class Making {
        private final Machine machine;
        private final Policy policy;
        private final Optional<NetworkDevice> device;
        private final List<String> remarks = new ArrayList<>();

        Making(Machine machine, Policy policy, Optional<NetworkDevice> device) {
            this.machine = machine;
            this.policy = policy;
            this.device = device;
        }

        AffinityPlan plan() {
            List<BitSet> ring = policy.kind().near == Policy.Near.ANYWHERE ? List.of(machine.allowed()) : nearestFirst();
            BitSet pool = ring.get(0);
            List<BitSet> groups = switch (policy.kind()) {
                case O2ACS, NEAR_ALL -> List.of(pool);
                case O2OCS, NEAR_CORE, O2OCC -> coresOf(pool);
                case O2NTS, NEAR_THREADS, O2NTC -> threadGroups(ring);
            };
            return new AffinityPlan(policy, device, groups, List.copyOf(remarks));
        }

        /** The CPUs allowed near the device, then those of each other node, or its socket, by its distance. */
        private List<BitSet> nearestFirst() {
            BitSet near = nearCpus();
            if (near.isEmpty() && device.map(d -> d.nodes().isEmpty()).orElse(true)) {
                remarks.add(device.map(d -> "where " + d.name() + " is attached is unknown")
                        .orElse("there is no network device")
                        + ": the whole machine is used");
                return List.of(machine.allowed());
            }
            List<BitSet> ring = new ArrayList<>();
            BitSet left = (BitSet) machine.allowed().clone();
            take(near, left, ring);
            for (Machine.Node node : byDistance(near)) {
                boolean first = ring.isEmpty();
                take(home(node.cpus()), left, ring);
                if (first && !ring.isEmpty())
                    remarks.add("no CPU near the device may be used (" + nearName()
                            + "): those of node " + node.id() + ", the nearest with any, are");
            }
            take(left, (BitSet) left.clone(), ring); // CPUs of no node
            return ring;
        }

        private static void take(BitSet cpus, BitSet left, List<BitSet> ring) {
            BitSet taken = Ids.and(cpus, left);
            left.andNot(taken);
            if (!taken.isEmpty()) ring.add(taken);
        }

        private BitSet nearCpus() {
            BitSet cpus = new BitSet();
            device.ifPresent(d -> {
                cpus.or(d.cpus());
                machine.nodes().stream().filter(n -> d.nodes().get(n.id())).forEach(n -> cpus.or(n.cpus()));
            });
            return home(cpus);
        }

        /** These CPUs, or all of their sockets where the policy speaks of sockets. */
        private BitSet home(BitSet cpus) {
            if (policy.kind().near != Policy.Near.SOCKET) return cpus;
            BitSet whole = (BitSet) cpus.clone();
            machine.packages().stream().filter(cpus::intersects).forEach(whole::or);
            return whole;
        }

        private String nearName() {
            BitSet nodes = device.orElseThrow().nodes();
            return nodes.isEmpty() ? "CPUs " + Ids.show(nearCpus()) : "node " + Ids.show(nodes);
        }

        private List<Machine.Node> byDistance(BitSet near) {
            List<Machine.Node> home = machine.nodes().stream()
                    .filter(n -> device.orElseThrow().nodes().get(n.id()) || n.cpus().intersects(near))
                    .toList();
            return machine.nodes().stream()
                    .sorted(Comparator.comparingInt((Machine.Node n) -> distance(home, n)).thenComparing(Machine.Node::id))
                    .toList();
        }

        private static int distance(List<Machine.Node> home, Machine.Node to) {
            if (home.contains(to)) return 0;
            return home.stream().mapToInt(from -> from.distances().getOrDefault(to.id(), Integer.MAX_VALUE))
                    .min().orElse(Integer.MAX_VALUE);
        }

        /** Each core's part of these CPUs, those of a node together. */
        private List<BitSet> coresOf(BitSet cpus) {
            List<BitSet> parts = new ArrayList<>();
            BitSet left = (BitSet) cpus.clone();
            machine.cores().stream()
                    .sorted(Comparator.comparingInt(this::nodeOf).thenComparing(core -> core.nextSetBit(0)))
                    .forEach(core -> take(core, left, parts));
            for (int cpu : left.stream().toArray()) { // of no core that the kernel describes
                BitSet alone = new BitSet();
                alone.set(cpu);
                parts.add(alone);
            }
            return parts;
        }

        private int nodeOf(BitSet core) {
            return machine.nodes().stream().filter(node -> node.cpus().intersects(core))
                    .mapToInt(Machine.Node::id).findFirst().orElse(Integer.MAX_VALUE);
        }

        /** Each N hardware threads, those of a core together; the last group goes on at the beginning. */
        private List<BitSet> threadGroups(List<BitSet> ring) {
            int wanted = policy.threads();
            List<Integer> pool = new ArrayList<>();
            int nodes = 0;
            while (nodes < ring.size() && (nodes == 0 || pool.size() < wanted)) pool.addAll(inCores(ring.get(nodes++)));
            if (pool.size() < wanted)
                remarks.add("only " + pool.size() + " CPUs may be used, " + wanted + " were asked for");
            else if (nodes > 1)
                remarks.add("the " + ring.get(0).cardinality() + " CPUs near the device are fewer than " + wanted
                        + ": the nearest others are added");
            int size = Math.min(wanted, pool.size());
            int count = nodes > 1 ? 1 : (pool.size() + size - 1) / size;
            List<BitSet> groups = new ArrayList<>();
            for (int group = 0; group < count; group++) {
                BitSet cpus = new BitSet();
                for (int i = 0; i < size; i++) cpus.set(pool.get((group * size + i) % pool.size()));
                groups.add(cpus);
            }
            return Collections.unmodifiableList(groups);
        }

        private List<Integer> inCores(BitSet cpus) {
            return coresOf(cpus).stream().flatMap(core -> core.stream().boxed()).toList();
        }
    }
}
