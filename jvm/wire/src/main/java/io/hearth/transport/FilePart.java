package io.hearth.transport;

import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;

/**
 * A part of a file that is sent behind a response's own bytes, without a copy of it ({@code sendfile(2)}). It has one
 * owner at a time, as a {@link Buffer} has; its end closes the file.
 */
public final class FilePart implements AutoCloseable {
    private final FileChannel file;
    private final int bytes;
    private long next;
    private int left;

    /** @param file handed over */
    public FilePart(FileChannel file, long from, int bytes) {
        this.file = file;
        this.bytes = bytes;
        this.next = from;
        this.left = bytes;
    }

    int bytes() {
        return bytes;
    }

    boolean isSent() {
        return left == 0;
    }

    /**
     * @return how many bytes went; 0 where the channel takes none now
     * @throws EOFException where the file has become shorter than its part
     */
    long send(WritableByteChannel to) throws IOException {
        long count = file.transferTo(next, left, to);
        if (count == 0 && file.size() < next + left) throw new EOFException("a file became shorter while it was sent");
        next += count;
        left -= (int) count;
        return count;
    }

    @Override
    public void close() {
        TcpAgent.closeQuietly(file);
    }
}
