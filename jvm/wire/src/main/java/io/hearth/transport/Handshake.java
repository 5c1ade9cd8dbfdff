package io.hearth.transport;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * How two sides come to trust each other, as bytes and without a socket.
 *
 * <p>hello, challenge, proof, accepted, transport: the client begins. Each proof covers all that was said before
 * it by either side, among it a number that the other side has just drawn. Nothing but these five
 * messages, each of a limited length, is looked at before.
 */
final class Handshake {
    static final int MAX_BYTES = 4096;
    static final int HELLO_BYTES = 27;

    private static final byte[] MAGIC = "HRTHWIRE".getBytes(StandardCharsets.US_ASCII);
    private static final byte VERSION = 3;
    private static final int NONCE_BYTES = 16;
    private static final int PROOF_BYTES = 32;
    private static final int MAX_TEXT_BYTES = 300;
    private static final Secret NOBODY = Secret.of("nobody knows a secret".getBytes(StandardCharsets.US_ASCII));

    private final WireSettings settings;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    Handshake(WireSettings settings) {
        this.settings = settings;
    }

    /**
     * What one side offers.
     *
     * @param token its name for the connection
     * @param window what it takes; {@code maxMessageBytes} of its longest message
     * @param ucx the address of its UCX worker; empty where it has none
     * @param why it has none; may be empty
     */
    record Offer(long token, int window, int maxMessageBytes, byte[] ucx, String why) { }

    /** Which transport the client has chosen, and why. */
    record Choice(boolean ucx, String why) { }

    // --- the client ---

    byte[] hello() {
        return keep(first('H'));
    }

    byte[] proof(byte[] challenge, Offer offer) throws WireException {
        agree(challenge, 'C');
        keep(challenge);
        return signed('P', "client", offer);
    }

    Offer accepted(byte[] body) throws WireException {
        return verified(body, 'A', "server");
    }

    byte[] choice(Choice choice) {
        byte[] text = cut(choice.why);
        ByteBuffer body = ByteBuffer.allocate(4 + text.length);
        body.put((byte) 'G').put((byte) (choice.ucx ? 1 : 0)).putShort((short) text.length).put(text);
        return withProof(body.array(), "choice");
    }

    // --- the server ---

    byte[] challenge(byte[] hello) throws WireException {
        agree(hello, 'H');
        keep(hello);
        return keep(first('C'));
    }

    Offer proven(byte[] body) throws WireException {
        return verified(body, 'P', "client");
    }

    byte[] accept(Offer offer) {
        return signed('A', "server", offer);
    }

    Choice chosen(byte[] body) throws WireException {
        ByteBuffer in = ByteBuffer.wrap(checked(body, 'G', "choice"), 1, body.length - 1 - PROOF_BYTES);
        try {
            return new Choice(in.get() == 1, text(in));
        } catch (BufferUnderflowException e) {
            throw refused("the peer's handshake is broken");
        }
    }

    // --- both ---

    /** Whether bytes that a stranger has sent so far may become a hello. */
    static boolean plausible(ByteBuffer start) {
        int bytes = start.position();
        if (bytes >= 2 && start.getShort(0) != HELLO_BYTES) return false;
        if (bytes >= 3 && start.get(2) != 'H') return false;
        for (int i = 0; i < MAGIC.length && 3 + i < bytes; i++) if (start.get(3 + i) != MAGIC[i]) return false;
        return true;
    }

    static byte[] refusal(String because) {
        byte[] text = cut(because);
        return ByteBuffer.allocate(1 + text.length).put((byte) 'R').put(text).array();
    }

    private byte[] first(char type) {
        byte secret = (byte) (settings.secret().isPresent() ? 1 : 0);
        ByteBuffer body = ByteBuffer.allocate(HELLO_BYTES);
        body.put((byte) type).put(MAGIC).put(VERSION).put(secret).put(Agent.nonce(NONCE_BYTES));
        return body.array();
    }

    private void agree(byte[] body, char type) throws WireException {
        refusedByPeer(body);
        ByteBuffer in = ByteBuffer.wrap(body);
        if (body.length != HELLO_BYTES || body[0] != type || !Arrays.equals(MAGIC, Arrays.copyOfRange(body, 1, 9)))
            throw refused("the peer does not speak this protocol");
        byte version = in.position(1 + MAGIC.length).get();
        if (version != VERSION) throw refused("the peer speaks version " + version + ", this side " + VERSION);
        boolean secret = in.get() == 1;
        if (secret != settings.secret().isPresent())
            throw refused(secret ? "the peer asks for a secret and this side has none: give both the same"
                    : "this side asks for a secret and the peer has none: give both the same");
    }

    private byte[] signed(char type, String who, Offer offer) {
        byte[] text = cut(offer.why);
        ByteBuffer body = ByteBuffer.allocate(1 + 8 + 4 + 4 + 2 + offer.ucx.length + 2 + text.length);
        body.put((byte) type).putLong(offer.token).putInt(offer.window).putInt(offer.maxMessageBytes);
        body.putShort((short) offer.ucx.length).put(offer.ucx).putShort((short) text.length).put(text);
        return withProof(body.array(), who);
    }

    private byte[] withProof(byte[] body, String who) {
        keep(body);
        byte[] proof = secret().prove(who, said.toByteArray());
        return ByteBuffer.allocate(body.length + PROOF_BYTES).put(body).put(proof).array();
    }

    private Offer verified(byte[] body, char type, String who) throws WireException {
        byte[] checked = checked(body, type, who);
        try {
            ByteBuffer in = ByteBuffer.wrap(checked, 1, checked.length - 1 - PROOF_BYTES);
            long token = in.getLong();
            int window = in.getInt();
            int maxMessageBytes = in.getInt();
            byte[] ucx = bytes(in);
            if (window < 1 || maxMessageBytes < 1) throw refused("the peer offers a window of " + window + " bytes and messages of "
                    + maxMessageBytes + " at most");
            return new Offer(token, window, maxMessageBytes, ucx, text(in));
        } catch (BufferUnderflowException e) {
            throw refused("the peer's handshake is broken");
        }
    }

    /** @throws WireException where the proof is not that of the secret */
    private byte[] checked(byte[] body, char type, String who) throws WireException {
        refusedByPeer(body);
        if (body.length < 1 + PROOF_BYTES || body[0] != type) throw refused("the peer's handshake is broken");
        keep(Arrays.copyOf(body, body.length - PROOF_BYTES));
        byte[] proof = Arrays.copyOfRange(body, body.length - PROOF_BYTES, body.length);
        if (!MessageDigest.isEqual(proof, secret().prove(who, said.toByteArray())))
            throw refused("the peer has a different secret: give both sides the same");
        return body;
    }

    private static void refusedByPeer(byte[] body) throws WireException {
        if (body.length > 0 && body[0] == 'R')
            throw refused("the peer refused: " + shown(Arrays.copyOfRange(body, 1, body.length)));
    }

    private Secret secret() {
        return settings.secret().orElse(NOBODY);
    }

    private byte[] keep(byte[] body) {
        said.writeBytes(ByteBuffer.allocate(4).putInt(body.length).array());
        said.writeBytes(body);
        return body;
    }

    private static byte[] bytes(ByteBuffer in) {
        byte[] bytes = new byte[Short.toUnsignedInt(in.getShort())];
        in.get(bytes);
        return bytes;
    }

    private static String text(ByteBuffer in) {
        return shown(bytes(in));
    }

    /** One line, without what moves a terminal's cursor. */
    private static String shown(byte[] bytes) {
        return new String(cut(new String(bytes, StandardCharsets.UTF_8)), StandardCharsets.UTF_8)
                .replaceAll("\\p{Cntrl}", "?");
    }

    private static byte[] cut(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return Arrays.copyOf(bytes, Math.min(bytes.length, MAX_TEXT_BYTES));
    }

    private static WireException refused(String because) {
        return new WireException(WireException.Kind.REFUSED, because);
    }
}
