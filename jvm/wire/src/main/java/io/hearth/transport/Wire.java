package io.hearth.transport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Carries requests and answers between JVMs: by UCX where both can, else by TCP. All is put together here. */
public final class Wire implements AutoCloseable {
    private final TcpAgent tcp;
    private final Optional<EndpointAgent> ucx;
    private final BufferPool pool;
    private final String why;
    private final List<AgentThread> threads = new ArrayList<>();

    private Wire(WireSettings settings, LongSupplier clockNs, Consumer<String> say) throws IOException {
        OnceLog log = new OnceLog(say);
        UcxLoader.Parts parts = UcxLoader.open(settings, clockNs, log);
        this.ucx = parts.agent();
        this.pool = parts.pool();
        this.why = parts.why();
        this.tcp = new TcpAgent(settings, pool, clockNs, ucx, why, log);
        threads.add(new AgentThread("hearth-wire-tcp", tcp, settings.idling(), say));
        ucx.ifPresent(agent -> threads.add(0, new AgentThread("hearth-wire-ucx", agent, settings.idling(), say)));
    }

    /**
     * @param say gets one line for each kind of trouble
     * @throws IOException where a transport that must be used cannot be had
     */
    public static Wire open(WireSettings settings, Consumer<String> say) throws IOException {
        return open(settings, System::nanoTime, say);
    }

    /** With the clock by which its limits of time count. */
    static Wire open(WireSettings settings, LongSupplier clockNs, Consumer<String> say) throws IOException {
        Wire wire;
        try {
            wire = prepare(settings, clockNs, say);
        } catch (RuntimeException | Error fault) {
            throw new IOException("the wire cannot be opened: " + fault, fault);
        }
        try {
            wire.threads.forEach(AgentThread::start);
            return wire;
        } catch (Error noThread) { // OutOfMemoryError: no more threads
            wire.close();
            throw new IOException("the wire cannot be opened: " + noThread, noThread);
        }
    }

    /** Without threads: whoever has it calls {@link Agent#doWork}. */
    static Wire prepare(WireSettings settings, LongSupplier clockNs, Consumer<String> say) throws IOException {
        return new Wire(settings, clockNs, say);
    }

    List<Agent> agents() {
        List<Agent> agents = new ArrayList<>();
        ucx.ifPresent(agents::add);
        agents.add(tcp);
        return agents;
    }

    /** This side's names for its connections. */
    List<Long> tokens() {
        List<Long> tokens = new ArrayList<>(tcp.tokens());
        ucx.ifPresent(agent -> tokens.addAll(agent.tokens()));
        return tokens;
    }

    /**
     * Listens there and nowhere else.
     *
     * @return where it listens, with the port that was given where 0 was asked for
     */
    public InetSocketAddress listen(InetSocketAddress where, Service service) throws IOException {
        return tcp.listen(where, service);
    }

    public CompletableFuture<Connection> connect(InetSocketAddress peer) {
        return connect(peer, Service.NONE);
    }

    /** @param service answers what the other side asks */
    public CompletableFuture<Connection> connect(InetSocketAddress peer, Service service) {
        return tcp.connect(peer, service);
    }

    /** Why there is no UCX here; empty where there is. */
    public String whyNoUcx() {
        return why;
    }

    public Counters counters() {
        return new Counters(tcp.openConnections() + ucx.map(EndpointAgent::openConnections).orElse(0), tcp.pendingHandshakes(),
                tcp.sockets(), ucx.map(EndpointAgent::endpoints).orElse(0), ucx.map(EndpointAgent::inFlight).orElse(0),
                pool.usedBuffers(), pool.usedBytes(), pool.reservedBytes());
    }

    /** Ends all connections, then the threads. */
    @Override
    public void close() {
        threads.forEach(AgentThread::stop);
        pool.close();
    }
}
