package io.hearth.transport;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * The owner of sockets or of a UCX worker: only its thread touches them. It has connections, work from other threads, and
 * a look at deadlines every 10 ms.
 */
public abstract class Agent {
    static final long LOOK_NS = 10_000_000L;

    /** So many within a second of each other, and an agent gives up. */
    private static final int MAX_FAULTS = 10;
    private static final long FAULTS_NS = 1_000_000_000L;

    private static final SecureRandom RANDOM = new SecureRandom();

    final WorkQueue queue;
    final Map<Long, Connection> connections = new ConcurrentHashMap<>();
    private final WireSettings settings;
    private final BufferPool pool;
    private final LongSupplier clockNs;
    private volatile Thread owner;
    private volatile boolean asleep;
    private volatile boolean ended;
    private volatile int activeConnections;
    private volatile int openConnections;
    private final OnceLog log;
    private long lookedNs;
    private long faultNs;
    private int faults;

    Agent(WireSettings settings, BufferPool pool, LongSupplier clockNs, OnceLog log) {
        this.log = log;
        this.settings = settings;
        this.pool = pool;
        this.clockNs = clockNs;
        this.queue = new WorkQueue(settings.limits().queueLimit(), this::told);
        this.lookedNs = clockNs.getAsLong();
    }

    /** Moves what has come and what goes. @return how much */
    abstract int carry();

    /** Every 10 ms. */
    abstract void look(long nowNs);

    /** The last round: closes all that this agent owns; whatever it is still asked for opens nothing. */
    abstract void end();

    /** After a fault: ends what it may have left half done. */
    abstract void recover(String because);

    /** Waits for the kernel. */
    abstract void block();

    /** Ends {@link #block}. */
    abstract void unblock();

    /** One round: never waits. @return how much was done; 0 where there was nothing to do */
    final int doWork() {
        owner = Thread.currentThread();
        int done = queue.drain() + carry();
        long nowNs = clockNs.getAsLong();
        if (nowNs - lookedNs >= LOOK_NS) {
            lookedNs = nowNs;
            for (Connection connection : new ArrayList<>(connections.values())) connection.look(nowNs);
            look(nowNs);
        }
        return done;
    }

    /**
     * A round has ended with this: its connections end too.
     *
     * @return whether another round makes sense
     */
    final boolean survives(Throwable fault) {
        long nowNs = clockNs.getAsLong();
        faults = nowNs - faultNs < FAULTS_NS ? faults + 1 : 1;
        faultNs = nowNs;
        try {
            told(fault);
            recover("an internal error: " + fault);
            return faults < MAX_FAULTS && !isBroken();
        } catch (Throwable worse) {
            return false;
        }
    }

    /** Whether what carries its messages can be used no more. */
    boolean isBroken() {
        return false;
    }

    private void told(Throwable fault) {
        log.once("fault", "an internal error in " + Thread.currentThread().getName() + " ends its connections: " + fault);
    }

    final OnceLog log() {
        return log;
    }

    /** The last round: closes all that it owns. */
    final void shutDown() {
        ended = true;
        end();
    }

    /** Whether the last round has begun. Work that other threads bring from then on may run in those threads. */
    final boolean hasEnded() {
        return ended;
    }

    /** Waits until something comes, until it is woken, or until a deadline is near. */
    final void await() {
        asleep = true;
        if (queue.isEmpty()) block();
        asleep = false;
    }

    /** Ends an {@link #await}; any thread. */
    final void wake() {
        if (asleep) unblock();
    }

    /** Whether it has connections that carry messages, so that polling makes sense. */
    final boolean hot() {
        return openConnections > 0;
    }

    final void add(Connection connection) {
        connections.put(connection.token(), connection);
        openConnections = connections.size();
    }

    void forget(Connection connection) {
        connections.remove(connection.token());
        openConnections = connections.size();
    }

    /** @return false where the queue is full */
    final boolean offer(Runnable work) {
        boolean taken = queue.offer(work);
        if (taken) wake();
        return taken;
    }

    /** Now where this is the agent's thread, else soon. */
    final void run(Runnable work) {
        if (isCurrent()) work.run();
        else {
            queue.must(work);
            wake();
        }
    }

    final boolean isCurrent() {
        return Thread.currentThread() == owner;
    }

    /** @param change by which the number of connections with something to wait for changes */
    void active(int change) {
        activeConnections += change;
    }

    /** Connections that wait for something; any thread. */
    final int activeConnections() {
        return activeConnections;
    }

    final int openConnections() {
        return openConnections;
    }

    final List<Long> tokens() {
        return List.copyOf(connections.keySet());
    }

    final void endConnections(String because) {
        for (Connection connection : new ArrayList<>(connections.values())) connection.lost(because);
    }

    final WireSettings settings() {
        return settings;
    }

    final BufferPool pool() {
        return pool;
    }

    final long nowNs() {
        return clockNs.getAsLong();
    }

    /** A name that nobody can guess; not 0. */
    static long token() {
        long token = RANDOM.nextLong();
        return token == 0 ? token() : token;
    }

    static byte[] nonce(int bytes) {
        byte[] nonce = new byte[bytes];
        RANDOM.nextBytes(nonce);
        return nonce;
    }
}
