package io.hearth.transport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.openucx.jucx.UcxException;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpMemMapParams;
import org.openucx.jucx.ucp.UcpMemory;
import org.openucx.jucx.ucp.UcpParams;

/** Whether UCX can be had here. Only {@link UcxLoader} names this class: it cannot be loaded without jucx. */
final class Ucx {
    /** What is called, and came latest: active messages with rendezvous, UCX 1.11. */
    private static final List<String> NEEDED =
            List.of("ucp_am_send_nbx", "ucp_am_recv_data_nbx", "ucp_worker_set_am_recv_handler", "ucp_ep_close_nbx");

    /**
     * Shared memory and RDMA. UCX's own TCP is left out, since it would listen on ports of its own choice, and System V's
     * shared memory, since UCX opens its segments to the user's group.
     */
    private static final List<String> TRANSPORTS = List.of("posix", "cma", "self", "ib");

    /** Of shared memory: a large message takes a quarter of the segments that it takes at UCX's own 8 KB. */
    private static final String SEGMENT_BYTES = "32768";

    private static final String SEGMENTS = "256";

    /** Below it a message is sent without asking first, which would wake both sides once more. */
    private static final String RENDEZVOUS_BYTES = "131072";

    /** UCX gives up a peer that it cannot connect in the way that ends the process: see {@code UcxAgent.Unconnected}. */
    private static final String NEVER = "10000000s";

    /** Set in this JVM by hearth's affinity (jvm/affinity), which has chosen the adapter. */
    private static final String PORTS = "hearth.network.rdma";
    private static final boolean ADAPTER = Files.isDirectory(Path.of("/sys/class/infiniband"));

    private Ucx() { }

    /** @throws UcxLoader.Missing with the reason where UCX cannot be had */
    static UcpContext open() throws UcxLoader.Missing {
        Map<String, String> environment = System.getenv();
        try {
            org.openucx.jucx.NativeLibs.load();
            Optional<Path> library = mapped("libucp.so");
            dropExtracted();
            if (library.isEmpty()) throw new UcxLoader.Missing(notLoaded(System.getProperty("os.arch")));
            byte[] content = Files.readAllBytes(library.get());
            for (String name : NEEDED)
                if (!contains(content, name)) throw new UcxLoader.Missing(
                        "the UCX of " + library.get() + " lacks " + name + ": it is older than 1.11, install a newer one");
            UcpParams params = new UcpParams().requestAmFeature().requestWakeupFeature().setMtWorkersShared(true);
            derived(rdma(), System.getProperty(PORTS, "")).forEach((name, value) -> {
                if (!environment.containsKey("UCX_" + name)) params.setConfig(name, value);
            });
            return new UcpContext(params);
        } catch (IOException | UncheckedIOException e) {
            throw new UcxLoader.Missing("libucp.so.0 cannot be read: " + e.getMessage());
        } catch (UcxException e) {
            String transports = environment.getOrDefault("UCX_TLS", String.join(",", TRANSPORTS));
            throw new UcxLoader.Missing("UCX has no transport of '" + transports + "' here: " + e.getMessage());
        }
    }

    /** jucx looks for its library in its own jar, and where that has none for the processor, where Java looks. */
    private static String notLoaded(String architecture) {
        String jucx = "libjucx_" + architecture + ".so";
        return UcpContext.class.getResource("/" + jucx) != null ? "libucp.so.0 was not loaded: apt-get install libucx0"
                : "jucx's jar has no library for " + architecture + ": install UCX, and put " + jucx
                        + ", as its sources build it, in a directory of LD_LIBRARY_PATH";
    }

    /**
     * UCX's settings, without {@code UCX_} before their names; those in the environment win.
     *
     * @param ports of the adapter that this JVM's threads are near to; empty where UCX may use any
     */
    static Map<String, String> derived(boolean rdma, String ports) {
        Map<String, String> derived = new HashMap<>(Map.of("TLS", transports(),
                "MM_ERROR_HANDLING", "y", "RNDV_THRESH", RENDEZVOUS_BYTES, "MM_SEG_SIZE", SEGMENT_BYTES,
                "MM_FIFO_SIZE", SEGMENTS));
        if (rdma) derived.put("UD_TIMEOUT", NEVER);
        if (rdma && !ports.isEmpty()) derived.put("NET_DEVICES", ports);
        return derived;
    }

    /** UCX complains of a transport that is not there: RDMA is asked for where there is an adapter. */
    private static String transports() {
        return TRANSPORTS.stream().filter(word -> ADAPTER || !word.equals("ib")).collect(Collectors.joining(","));
    }

    /** Whether messages may go by RDMA: also where the user names UCX's transports, by whatever name. */
    static boolean rdma() {
        return ADAPTER;
    }

    /** jucx unpacks its library into a directory that a killed JVM would leave: once mapped, no name is needed. */
    private static void dropExtracted() throws IOException {
        Optional<Path> library = mapped("libjucx_");
        if (library.isEmpty()) return;
        Path directory = library.get().getParent();
        boolean isExtracted = directory.getFileName().toString().startsWith("jucx")
                && directory.startsWith(Path.of(System.getProperty("java.io.tmpdir")));
        if (!isExtracted) return;
        Files.deleteIfExists(library.get());
        Files.deleteIfExists(directory);
    }

    private static Optional<Path> mapped(String name) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains("/" + name))
                    .map(line -> Path.of(line.substring(line.indexOf('/')).replace(" (deleted)", ""))).findFirst();
        }
    }

    private static boolean contains(byte[] content, String name) {
        byte[] word = ("\0" + name + "\0").getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i + word.length <= content.length; i++)
            if (content[i] == 0 && Arrays.mismatch(content, i, i + word.length, word, 0, word.length) < 0) return true;
        return false;
    }

    /** Memory that an adapter can reach without a copy. */
    static BufferPool.Registrar registrar(UcpContext context) {
        return memory -> new Registered(context, memory);
    }

    private static final class Registered implements BufferPool.Registration {
        private final long address;
        private final UcpMemory handle;
        private boolean closed;

        Registered(UcpContext context, ByteBuffer memory) {
            address = UcxUtils.getAddress(memory);
            handle = context.memoryMap(new UcpMemMapParams().setAddress(address).setLength(memory.capacity()));
        }

        @Override
        public long address() {
            return address;
        }

        @Override
        public void close() {
            if (!closed) handle.deregister();
            closed = true;
        }
    }
}
