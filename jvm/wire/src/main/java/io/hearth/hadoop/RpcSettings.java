package io.hearth.hadoop;

import io.hearth.transport.Idling;
import io.hearth.transport.Secret;
import io.hearth.transport.WireSettings;
import io.hearth.transport.WireSettings.Transports;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;

/**
 * What Hadoop's configuration says of the wire.
 *
 * @param port at which a server's wire listens, on the host of its RPC; 0: any that is free
 * @param whyNoUcx why UCX is not tried; empty where it is
 */
public record RpcSettings(WireSettings wire, int port, String whyNoUcx) {
    static final String IDLE = "hearth.rpc.idle";
    static final String MEMORY = "hearth.rpc.memory";
    static final String WINDOW = "hearth.rpc.window";
    static final String TRANSPORTS = "hearth.rpc.transports";
    static final String SECRET = "hearth.rpc.secret.file";
    static final String PORT = "hearth.rpc.port";
    static final String FALLBACK = "hearth.rpc.fallback";
    private static final String LOUD =
            "UCX would log to the program's standard output: set UCX_LOG_FILE=stderr in the environment to use it";

    /** @throws IOException where a value is not allowed, with its key */
    public static RpcSettings of(Configuration conf) throws IOException {
        int longest = conf.getInt(CommonConfigurationKeys.IPC_MAXIMUM_RESPONSE_LENGTH,
                CommonConfigurationKeys.IPC_MAXIMUM_RESPONSE_LENGTH_DEFAULT);
        Transports transports = one(conf, TRANSPORTS, Transports.values(), Transports.ANY);
        boolean silent = transports == Transports.ANY && !System.getenv().containsKey("UCX_LOG_FILE")
                && !System.getenv().containsKey("UCX_LOG_LEVEL");
        WireSettings wire = sized(conf, longest).withTransports(silent ? Transports.TCP : transports);
        String secret = conf.getTrimmed(SECRET, "");
        if (!secret.isEmpty()) wire = wire.withSecret(Secret.read(Path.of(secret)));
        int port = conf.getInt(PORT, 0);
        if (port < 0 || port > 65535) throw wrong(PORT, Integer.toString(port), "0 to 65535");
        return new RpcSettings(wire, port, silent ? LOUD : "");
    }

    /** Memory for four of the longest messages at least: the wire takes no less. */
    private static WireSettings sized(Configuration conf, int longest) throws IOException {
        try {
            WireSettings usual = WireSettings.defaults();
            long memory = conf.getLongBytes(MEMORY, usual.memoryBytes());
            int window = Math.toIntExact(conf.getLongBytes(WINDOW, usual.windowBytes()));
            return usual.withMemory(Math.max(memory, 4L * longest), window, longest)
                    .withIdling(one(conf, IDLE, Idling.values(), (Idling) usual.idling()));
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IOException(MEMORY + " or " + WINDOW + ": " + e.getMessage(), e);
        }
    }

    /** Whether calls go over TCP, as without hearth, where the wire cannot carry them; else they fail. */
    public static boolean fallsBack(Configuration conf) {
        return conf.getBoolean(FALLBACK, true);
    }

    private static <E extends Enum<E>> E one(Configuration conf, String key, E[] known, E otherwise)
            throws IOException {
        String value = conf.getTrimmed(key, shown(otherwise));
        List<String> names = Arrays.stream(known).map(RpcSettings::shown).toList();
        int at = names.indexOf(value);
        if (at < 0) throw wrong(key, value, String.join(", ", names));
        return known[at];
    }

    private static String shown(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static IOException wrong(String key, String value, String allowed) {
        return new IOException(key + ": '" + value + "' is not one of " + allowed);
    }
}
