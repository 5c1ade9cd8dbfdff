import io.hearth.transport.Buffer;
import io.hearth.transport.Connection;
import io.hearth.transport.Message;
import io.hearth.transport.Request;
import io.hearth.transport.Wire;
import io.hearth.transport.WireException;
import io.hearth.transport.WireSettings;
import java.time.Duration;
import java.net.InetSocketAddress;

/**
 * Messages over the wire. {@code serve TRANSPORT HOST PORT} sends back what comes, until its input ends; {@code ask
 * TRANSPORT HOST PORT SIZE...} prints a line for each size once its message has come back as it was.
 */
public final class Echo {
    private static final long LIMIT_NS = 120_000_000_000L;

    /** An emulated machine beside other work may take longer than the usual limit for a handshake. */
    private static final WireSettings.Limits PATIENT =
            new WireSettings.Limits(4096, 1024, Duration.ofSeconds(60), Duration.ofSeconds(30), 256);

    private Echo() { }

    public static void main(String[] words) throws Exception {
        WireSettings settings = WireSettings.defaults().withLimits(PATIENT)
                .withTransports(WireSettings.Transports.valueOf(words[1]));
        InetSocketAddress where = new InetSocketAddress(words[2], Integer.parseInt(words[3]));
        try (Wire wire = Wire.open(settings, System.err::println)) {
            if (words[0].equals("serve")) {
                wire.listen(where, Echo::answer);
                System.out.println("ready");
                while (System.in.read() >= 0) Thread.onSpinWait();
            } else {
                Connection connection = wire.connect(where).get();
                for (int i = 4; i < words.length; i++) ask(connection, Integer.parseInt(words[i]));
            }
        }
    }

    private static void answer(Request request) {
        try {
            Buffer answer = request.connection().buffer(request.data().remaining());
            answer.data().put(request.data());
            request.respond(answer);
        } catch (WireException e) {
            request.fail(e.getMessage());
        }
    }

    private static void ask(Connection connection, int size) throws Exception {
        Buffer request = connection.buffer(size);
        for (int i = 0; i < size; i++) request.data().put(i, (byte) (i * 31));
        try (Message answer = connection.request(request, LIMIT_NS).get()) {
            if (answer.data().remaining() != size) throw new IllegalStateException(size + " bytes came back as " + answer.data());
            for (int i = 0; i < size; i++)
                if (answer.data().get(i) != (byte) (i * 31)) throw new IllegalStateException("byte " + i + " of " + size);
        }
        System.out.println("same " + size);
    }
}
