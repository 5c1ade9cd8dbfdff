package io.hearth.affinity;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Finds the communication threads of this process and binds each once in its life.
 *
 * <p>A thread whose CPUs are neither the process's nor one of the plan's sets was bound by the
 * application: it is left alone and named. A new thread inherits the CPUs of the one that made it: where
 * that was a communication thread and it is none, it gets the process's back.
 *
 * <p>A thread is known by its id while that is in the list of threads: the kernel gives an id again only
 * when all others have had their turn (kernel/pid.c: idr_alloc_cyclic), which is not between two looks.
 *
 * <p>One thread uses it.
 */
final class Binder {
    private static final int EPERM = 1;
    private static final int ESRCH = 3;
    private static final int EINVAL = 22;

    /** A thread is named by its own first instructions, and some are named anew later: looked at again. */
    private static final long SETTLING_NS = 1_000_000_000L;

    /** Of a thread without a name of its own; HDFS names the thread of a transfer when its first data comes. */
    private static final long UNNAMED_NS = 1_000_000_000L;

    /** The name that Java gives a thread to which nobody gave one. */
    private static final String UNNAMED = "Thread-";

    /** Threads named in messages at most; later ones would say no more. */
    private static final int MOST_NAMED = 20;

    private static final class Known {
        final long seenNs;
        long lookedNs;
        boolean done;

        Known(long seenNs) {
            this.seenNs = seenNs;
        }
    }

    private final Tree proc;
    private final Scheduling scheduling;
    private final ThreadNames names;
    private final AffinityPlan plan;
    private final int self;
    private final Consumer<String> say;
    private final LongSupplier clockNs;
    private final Set<BitSet> ours;
    private final Map<Integer, Known> known = new HashMap<>();
    private long turn;
    private int bound;
    private int named;

    /**
     * @param proc the root that holds {@code proc/self/task}
     * @param self the id of a thread that nobody binds: its CPUs are the process's
     */
    Binder(Tree proc, Scheduling scheduling, ThreadNames names, AffinityPlan plan, long first, int self,
            Consumer<String> say, LongSupplier clockNs) {
        this.proc = proc;
        this.scheduling = scheduling;
        this.names = names;
        this.plan = plan;
        this.turn = first;
        this.self = self;
        this.say = say;
        this.clockNs = clockNs;
        this.ours = new HashSet<>(plan.groups());
    }

    /** Threads bound so far. */
    int bound() {
        return bound;
    }

    /** @return whether some threads are so new that they must be looked at again soon; others are each second */
    boolean look() {
        long now = clockNs.getAsLong();
        Optional<BitSet> process = scheduling.mask(self);
        List<Integer> tids = new ArrayList<>();
        for (String name : proc.names("proc/self/task")) tids.add(Integer.valueOf(name));
        known.keySet().retainAll(new HashSet<>(tids));
        boolean settling = false;
        for (int tid : tids) {
            if (tid == self || process.isEmpty()) continue;
            settling |= look(tid, process.get(), now);
        }
        return settling;
    }

    private boolean look(int tid, BitSet process, long now) {
        Known thread = known.get(tid);
        if (thread == null) {
            thread = new Known(now);
            known.put(tid, thread);
        }
        boolean isNew = now - thread.seenNs < SETTLING_NS;
        if (thread.done || !isNew && now - thread.lookedNs < UNNAMED_NS) return false;
        thread.lookedNs = now;
        String comm = proc.line("proc/self/task/" + tid + "/comm").orElse("");
        boolean communicates = names.include(comm);
        if (communicates) bind(tid, comm, process);
        else giveBack(tid, process);
        thread.done = communicates || !isNew && !comm.startsWith(UNNAMED);
        return isNew && !communicates;
    }

    private void bind(int tid, String comm, BitSet process) {
        Optional<BitSet> now = scheduling.mask(tid);
        if (now.isEmpty()) return;
        if (!now.get().equals(process) && !ours.contains(now.get())) {
            name(comm + " (" + tid + ") stays on CPUs " + Ids.show(now.get()) + ", which the application gave it");
            return;
        }
        BitSet cpus = plan.of(turn);
        int error = now.get().equals(cpus) ? 0 : scheduling.bind(tid, cpus);
        if (error == 0) {
            turn++;
            bound++;
        } else if (error != ESRCH)
            name(comm + " (" + tid + ") was not bound: the kernel refused CPUs " + Ids.show(cpus) + " (errno "
                    + error + "): " + meaning(error));
    }

    /** By errno(3), of sched_setaffinity(2). */
    private static String meaning(int error) {
        if (error == EPERM) return "EPERM: a seccomp profile or a security module refuses the call";
        if (error == EINVAL) return "EINVAL: they must be online and inside the cpuset of this process";
        return "see sched_setaffinity(2)";
    }

    /** Inherited from a communication thread, not asked for. */
    private void giveBack(int tid, BitSet process) {
        Optional<BitSet> now = scheduling.mask(tid);
        boolean inherited = now.isPresent() && !now.get().equals(process) && ours.contains(now.get());
        if (inherited) scheduling.bind(tid, process);
    }

    private void name(String message) {
        if (++named <= MOST_NAMED) say.accept(message);
        if (named == MOST_NAMED) say.accept("further threads of this kind are not named");
    }
}
