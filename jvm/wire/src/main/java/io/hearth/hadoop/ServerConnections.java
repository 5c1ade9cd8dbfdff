package io.hearth.hadoop;

import io.hearth.transport.Connection;
import io.hearth.transport.Wire;
import io.hearth.transport.WireException;
import io.hearth.transport.WireSettings;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RemoteException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The wires to Hadoop servers, one for each address. A server that refuses is asked again after a minute, one whose
 * wire was not reached after a second.
 *
 * <p>Any thread may use it.
 */
public final class ServerConnections {
    private static final Logger LOG = LoggerFactory.getLogger(ServerConnections.class);
    private static final long REFUSED_NS = Duration.ofMinutes(1).toNanos();
    private static final long UNREACHED_NS = Duration.ofSeconds(1).toNanos();
    private static final long CONNECT_S = 15;

    /** Asks the server at an RPC address at which port its wire listens. */
    @FunctionalInterface
    public interface Lookup {
        int port(InetSocketAddress server) throws IOException;
    }

    /** A connection, or why there is none, until when. */
    private record Known(Optional<Connection> connection, long untilNs) { }

    private static volatile Optional<ServerConnections> ofThisProcess = Optional.empty();
    private static volatile long notBeforeNs = System.nanoTime();

    private final Wire wire;
    private final Consumer<String> say;
    private final LongSupplier clockNs;
    private final Map<InetSocketAddress, CompletableFuture<Known>> known = new ConcurrentHashMap<>();
    private final Map<InetSocketAddress, String> said = new ConcurrentHashMap<>();

    ServerConnections(Wire wire, Consumer<String> say, LongSupplier clockNs) {
        this.wire = wire;
        this.say = say;
        this.clockNs = clockNs;
    }

    /**
     * The wires of this process's clients: opened once, with the configuration of the first of them.
     *
     * @return empty where this process cannot have one now, which one line says; it is tried again after a minute
     * Throws IOException where a value of the configuration is not allowed, or a transport that must be used is missing
     */
    public static Optional<ServerConnections> of(Configuration conf) throws IOException {
        if (ofThisProcess.isEmpty() && System.nanoTime() - notBeforeNs >= 0) {
            synchronized (ServerConnections.class) {
                if (ofThisProcess.isEmpty() && System.nanoTime() - notBeforeNs >= 0) ofThisProcess = open(conf);
            }
        }
        return ofThisProcess;
    }

    private static Optional<ServerConnections> open(Configuration conf) throws IOException {
        WireSettings settings = RpcSettings.of(conf).wire();
        try {
            return Optional.of(new ServerConnections(Wire.open(settings, LOG::warn), LOG::info, System::nanoTime));
        } catch (WireException refused) {
            throw refused;
        } catch (IOException | Error fault) { // perhaps no more threads
            LOG.warn("calls go over Hadoop's TCP for a minute: {}", fault.toString());
            notBeforeNs = System.nanoTime() + REFUSED_NS;
            return Optional.empty();
        }
    }

    /**
     * Asks and connects at the first call for an address; others for that address wait for it.
     *
     * @return the wire to this server; empty where it has none, or none that both sides accept, which one line says
     * Throws IOException where the server cannot be reached at all, as a call of Hadoop's own
     */
    public Optional<Connection> to(InetSocketAddress server, Lookup lookup) throws IOException, InterruptedException {
        CompletableFuture<Known> mine = new CompletableFuture<>();
        CompletableFuture<Known> pending = known.compute(server, (address, before) -> isOver(before) ? mine : before);
        if (pending == mine) {
            try {
                mine.complete(ask(server, lookup));
            } catch (Throwable trouble) {
                known.remove(server, mine);
                mine.completeExceptionally(trouble);
            }
        }
        try {
            return pending.get().connection();
        } catch (ExecutionException e) {
            // Another's interrupt is not this caller's: it goes on without.
            if (e.getCause() instanceof InterruptedException) {
                if (pending == mine) throw (InterruptedException) e.getCause();
                return Optional.empty();
            }
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
        }
    }

    private boolean isOver(CompletableFuture<Known> before) {
        if (before == null) return true;
        if (!before.isDone()) return false;
        Known last = before.join();
        return last.connection().map(connection -> connection.end().isDone())
                .orElseGet(() -> clockNs.getAsLong() - last.untilNs() >= 0);
    }

    private Known ask(InetSocketAddress server, Lookup lookup) throws IOException, InterruptedException {
        IOException refused;
        try {
            InetSocketAddress there = new InetSocketAddress(server.getAddress(), port(server, lookup));
            return new Known(Optional.of(wire.connect(there).get(CONNECT_S, TimeUnit.SECONDS)), 0);
        } catch (ExecutionException e) {
            refused = e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
        } catch (TimeoutException e) {
            refused = new IOException("no wire within " + CONNECT_S + " s");
        } catch (RemoteException e) {
            refused = e;
        } catch (Error fault) {
            refused = new IOException("an internal error: " + fault, fault);
        }
        String why = String.valueOf(refused.getMessage()).lines().findFirst().orElse("");
        if (!why.equals(said.put(server, why))) say.accept("calls to " + server + " go over Hadoop's TCP: " + why);
        boolean forLong = refused instanceof RemoteException
                || refused instanceof WireException of && of.kind() == WireException.Kind.REFUSED;
        return new Known(Optional.empty(), clockNs.getAsLong() + (forLong ? REFUSED_NS : UNREACHED_NS));
    }

    private static int port(InetSocketAddress server, Lookup lookup) throws IOException, InterruptedException {
        try {
            return lookup.port(server);
        } catch (EOFException stale) { // Hadoop's client had a connection to a server that has ended
            return lookup.port(server);
        } catch (SocketTimeoutException e) {
            throw e;
        } catch (InterruptedIOException e) {
            throw new InterruptedException(e.getMessage());
        }
    }
}
