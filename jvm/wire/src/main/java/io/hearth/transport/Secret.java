package io.hearth.transport;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** What both sides know and never send; each proves that it does. */
public final class Secret {
    private static final int MIN_BYTES = 16;
    private static final int MAX_BYTES = 4096;
    private static final String HMAC = "HmacSHA256";

    private final byte[] bytes;

    private Secret(byte[] bytes) {
        this.bytes = bytes;
    }

    /** @throws IllegalArgumentException where it is shorter than 16 bytes */
    public static Secret of(byte[] bytes) {
        if (bytes.length < MIN_BYTES || bytes.length > MAX_BYTES)
            throw new IllegalArgumentException("the secret has " + bytes.length + " bytes: give " + MIN_BYTES + " to "
                    + MAX_BYTES + ", such as those of: head -c 32 /dev/urandom | base64");
        return new Secret(bytes.clone());
    }

    /**
     * @param file its text without white space at its ends is the secret
     * @throws IOException where it cannot be read, or others may read it
     */
    public static Secret read(Path file) throws IOException {
        Set<PosixFilePermission> allowed = Files.getPosixFilePermissions(file);
        boolean others = allowed.stream().anyMatch(p -> !p.name().startsWith("OWNER_"));
        if (others) throw new IOException("the key file '" + file + "' may be read by others: chmod 600 " + file);
        if (Files.size(file) > MAX_BYTES)
            throw new IOException("the key file '" + file + "' has " + Files.size(file) + " bytes, the limit is "
                    + MAX_BYTES + ": is it the right file?");
        return of(Files.readString(file).strip().getBytes(StandardCharsets.UTF_8));
    }

    /** @param who what keeps a proof from being sent back as one's own */
    byte[] prove(String who, byte[] said) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(new SecretKeySpec(bytes, HMAC));
            mac.update(who.getBytes(StandardCharsets.UTF_8));
            mac.update((byte) 0);
            return mac.doFinal(said);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no " + HMAC, e);
        }
    }

    @Override
    public String toString() {
        return "Secret(hidden)";
    }
}
