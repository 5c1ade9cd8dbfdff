package io.hearth.affinity;

/** A setting that cannot be followed; its message is one line for the user. */
public final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Refused(String message) {
        super(message);
    }
}
