package io.hearth.affinity;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The files of this machine, or of a directory that holds copies. */
final class LiveTree implements Tree {
    private final Path root;

    LiveTree(Path root) {
        this.root = root;
    }

    @Override
    public Optional<String> line(String path) {
        try {
            String text = Files.readString(root.resolve(path), StandardCharsets.ISO_8859_1).trim();
            return text.isEmpty() ? Optional.empty() : Optional.of(text);
        } catch (IOException e) { // absent, or not for this device
            return Optional.empty();
        }
    }

    @Override
    public List<String> names(String directory) {
        String[] names = root.resolve(directory).toFile().list();
        if (names == null) return List.of();
        Arrays.sort(names);
        return List.of(names);
    }

    @Override
    public Optional<String> resolved(String path) {
        try {
            return Optional.of(root.toRealPath().relativize(root.resolve(path).toRealPath()).toString());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
