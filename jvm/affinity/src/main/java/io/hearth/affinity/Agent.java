package io.hearth.affinity;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * {@code java -javaagent:hearth-affinity.jar=policy=o2nts:4,device=eth0}: keeps the communication
 * threads of any JVM on Linux near the network device. A thread of its own does all of it: no call of the
 * application's is on its path.
 */
public final class Agent {

    /** A new thread is bound within 100 ms; one that gets its name late, within some more than a second. */
    private static final long PAUSE_MS = 75;

    private static final int MOST_PAUSES = 14;

    private static final int USER_ERROR = 2;

    /** A JVM has one agent, however often it is asked for: as an option, and by Spark's plugin. */
    private static final AtomicBoolean BEGUN = new AtomicBoolean();

    private Agent() {}

    /** Ends the JVM where the user's settings cannot be followed. */
    public static void premain(String argument) {
        try {
            String text = argument == null ? "" : argument;
            begin(Settings.parse(text, System.getenv(), System.getProperty("os.arch")), OwnJna::scheduling);
        } catch (Refused e) {
            say(e.getMessage());
            System.exit(USER_ERROR);
        }
    }

    /**
     * Begins to bind the communication threads of this JVM; nothing more where that has begun already.
     *
     * @param kernel gives the system calls, in the thread that is started
     * @throws Refused where this machine lacks the device that the user wants
     */
    public static void begin(Settings settings, Callable<Scheduling> kernel) {
        settings.device().ifPresent(Agent::check);
        if (!BEGUN.compareAndSet(false, true)) return;
        try {
            RdmaPorts.publish(settings);
        } catch (RuntimeException e) {
            say("UCX chooses its adapter itself: " + e);
        }
        Thread thread = new Thread(() -> guarded(settings, kernel), "hearth-affinity");
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }

    private static void check(String device) {
        boolean there = device.indexOf('/') < 0
                && (Files.exists(Path.of("/sys/class/net", device)) || Files.exists(Path.of("/sys/class/infiniband", device)));
        if (there) return;
        String names = new AdapterReader(new LiveTree(Path.of("/")), new BitSet())
                .read().stream().map(Adapter::name).collect(Collectors.joining(", "));
        throw new Refused("device '" + device + "' is not on this machine: it has "
                + (names.isEmpty() ? "no network device" : names));
    }

    private static void say(String message) {
        System.err.println("hearth-affinity: " + message);
    }

    /** What fails here must not harm the application: one line, and its threads stay as they are. */
    private static void guarded(Settings settings, Callable<Scheduling> kernel) {
        try {
            watch(settings, kernel.call());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (InvocationTargetException e) {
            say("communication threads are not bound: " + e.getCause());
        } catch (Throwable e) {
            say("communication threads are not bound from here on: " + e);
        }
    }

    private static void watch(Settings settings, Scheduling scheduling) throws Exception {
        int self = Integer.parseInt(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
        for (BitSet process = scheduling.mask(self).orElseThrow(); ; ) process = watch(settings, scheduling, self, process);
    }

    /** @return the process's CPUs, as soon as they are others: who changed them has changed those of its threads too */
    private static BitSet watch(Settings settings, Scheduling scheduling, int self, BitSet process) throws Exception {
        Tree tree = new LiveTree(Path.of("/"));
        long pid = Long.parseLong(Files.readSymbolicLink(Path.of("/proc/self")).toString());
        Machine machine = new MachineReader(tree).read(process);
        AffinityPlan plan = AffinityPlan.of(machine, settings.policy(), device(machine, settings));
        say(described(plan));
        plan.remarks().forEach(Agent::say);
        long first = settings.first().map(Integer::longValue).orElse(pid);
        Binder binder = new Binder(tree, scheduling, settings.threads(), plan, first, self, Agent::say, System::nanoTime);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        boolean settling = true;
        int pauses = 0;
        for (long seen = -1; ; Thread.sleep(PAUSE_MS)) {
            long started = threads.getTotalStartedThreadCount();
            boolean looks = settling || started != seen || pauses == MOST_PAUSES;
            pauses = looks ? 0 : pauses + 1;
            BitSet now = looks ? scheduling.mask(self).orElseThrow() : process;
            if (!now.equals(process)) return now;
            if (looks) settling = binder.look();
            seen = started;
        }
    }

    private static Optional<NetworkDevice> device(Machine machine, Settings settings) {
        return NetworkDevice.choose(machine, settings.device(), settings.peer().flatMap(Agent::carrier));
    }

    static Optional<String> carrier(String peer) {
        try {
            return NetworkDevice.carrier(peer);
        } catch (IOException | java.io.UncheckedIOException e) {
            say("no route to the peer '" + peer + "' is known: the default route decides");
            return Optional.empty();
        }
    }

    private static String described(AffinityPlan plan) {
        String groups = plan.groups().stream().limit(8).map(Ids::show).collect(Collectors.joining(" | "));
        return plan.policy() + ", " + plan.device().map(d -> d.name() + " (" + d.why() + "; " + d.source() + ")")
                .orElse("no network device") + ": CPUs " + groups + (plan.groups().size() > 8 ? " | ..." : "");
    }
}
