package io.hearth.affinity;

import java.util.List;
import java.util.Optional;

/** The files of sysfs and procfs, of a live machine or of a capture. Paths are relative to its root. */
public interface Tree {

    /** The file's text without surrounding blanks; absent where it is not there, empty or unreadable. */
    Optional<String> line(String path);

    /** The names in a directory, sorted; none where it is not there. */
    List<String> names(String directory);

    /** Where a path leads when its links are followed, relative to the root; absent where nowhere. */
    Optional<String> resolved(String path);
}
