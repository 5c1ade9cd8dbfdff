package io.hearth.core.files

import java.io.IOException
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.json.Json
import io.hearth.core.plan.Project
import io.hearth.core.testing.{Child, Required, Temporary}

class OwnFilesTest extends AnyFunSuite {
  private val Nobody = 65534

  private def modeOf(path: Path) =
    PosixFilePermissions.toString(Files.getPosixFilePermissions(path))

  private def giveAway(path: Path): Unit = {
    Required(
      "root",
      System.getProperty("user.name") == "root",
      "root, who alone can give files away,"
    )
    Files.setAttribute(path, "unix:uid", Nobody, java.nio.file.LinkOption.NOFOLLOW_LINKS)
  }

  test("a directory is made for its owner alone, with those above it, and found again") {
    Temporary.directory { root =>
      val made = OwnFiles.claim(root.resolve("a/b/hearth-app"))
      assert(Seq(made, root.resolve("a"), root.resolve("a/b")).forall(modeOf(_) == "rwx------"))
      assert(OwnFiles.claim(made) == made)
    }
  }

  test("a symbolic link is not followed and its target not changed") {
    Temporary.directory { root =>
      val target = Files.createDirectory(root.resolve("target"))
      Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rwxr-xr-x"))
      val link = Files.createSymbolicLink(root.resolve("hearth-app"), target)
      assert(intercept[IOException](OwnFiles.claim(link)).getMessage == "it is a symbolic link")
      assert(modeOf(target) == "rwxr-xr-x")
    }
  }

  test("a directory that others can write to, or that is another user's, is refused") {
    Temporary.directory { root =>
      val open = Files.createDirectory(root.resolve("open"))
      Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"))
      assert(intercept[IOException](OwnFiles.claim(open)).getMessage == "others can write to it")
      val theirs = Files.createDirectory(root.resolve("theirs"))
      giveAway(theirs)
      Seq(() => OwnFiles.claim(theirs), () => OwnFiles.keep(theirs)).foreach { use =>
        assert(intercept[IOException](use()).getMessage.contains("it belongs to user 65534"))
      }
    }
  }

  test(
    "nothing is kept below a directory in which others can replace it; the sticky bit prevents that"
  ) {
    Temporary.directory { root =>
      val shared = Files.createDirectories(root.resolve("shared"))
      val mine = OwnFiles.claim(shared.resolve("mine"))
      val link = Files.createSymbolicLink(root.resolve("link"), mine)
      val archive = Files.writeString(mine.resolve("executor-0.jsa"), "x")
      val uses = Seq[() => Any](
        () => OwnFiles.claim(mine),
        () => OwnFiles.claim(shared.resolve("new/hearth-app")),
        () => OwnFiles.keep(mine),
        () => OwnFiles.keep(link),
        () => OwnFiles.keep(link.resolve("below"))
      )
      def open(mode: Int) = Files.setAttribute(shared, "unix:mode", mode)
      open(0x1ff) // 777
      uses.foreach { use =>
        val said = intercept[IOException](use()).getMessage
        assert(said.contains(s"$shared has mode 777 ('chmod +t $shared'"))
      }
      assert(!OwnFiles.trusted(archive) && !Files.exists(shared.resolve("new")))
      open(0x3ff) // 1777
      uses.foreach(_())
      assert(OwnFiles.trusted(archive))
    }
  }

  test("nor below one of another user's, of a group, or of one that an ACL names, a link included") {
    Temporary.directory { root =>
      val shared = Files.createDirectories(root.resolve("shared"))
      Files.createDirectory(shared.resolve("deep"))
      val link = Files.createSymbolicLink(root.resolve("link"), shared.resolve("deep"))
      def use() = OwnFiles.claim(shared.resolve("deep/hearth-app"))
      def useLink() = OwnFiles.claim(link.resolve("hearth-app"))
      def refused(work: => Any) = intercept[IOException](work).getMessage
      def set(name: String, value: Int, file: Path = shared) =
        Files.setAttribute(file, s"unix:$name", value, java.nio.file.LinkOption.NOFOLLOW_LINKS)

      giveAway(shared)
      for (mode <- Vector(0x1ff, 0x3ff, 0x1ed)) { // 777, 1777, 755
        set("mode", mode)
        assert(refused(use()).contains(s"$shared belongs to user $Nobody; use a directory inside"))
      }
      set("uid", 0)
      giveAway(link)
      use()
      assert(refused(useLink()).contains(s"$link belongs to user $Nobody"))
      set("uid", 0, link)
      useLink()
      set("mode", 0x1fd) // 775
      use()
      set("gid", Nobody)
      assert(refused(use()).contains(s"$shared has mode 775, group nogroup ('chmod +t $shared'"))
      set("mode", 0x3fd) // 1775
      use()
      set("gid", 0)
      set("mode", 0x1c0) // 700
      Required("python3", Child.has("python3"), "python3, which sets an ACL,")
      // mode 700 and `user:65534:rwx`, linux/posix_acl_xattr.h
      val acl = "import os, struct, sys; os.setxattr(sys.argv[1], 'system.posix_acl_access', " +
        "struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in [(1, 7, 2**32-1), " +
        "(2, 7, 65534), (4, 0, 2**32-1), (16, 7, 2**32-1), (32, 0, 2**32-1)]))"
      val done = Child.run(Vector("python3", "-c", acl, shared.toString))
      Required("acl", done.exit == 0, s"a file system with ACLs (${done.err.trim})")
      assert(refused(use()).contains(s"$shared has mode 770, with an ACL ('chmod +t $shared'"))
    }
  }

  test("a file that others can write to is not trusted, though nobody can replace it") {
    Temporary.directory { root =>
      val file = Files.writeString(OwnFiles.keep(root.resolve("hearth")).resolve("a.jsa"), "x")
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"))
      assert(!OwnFiles.trusted(file))
    }
  }

  test("a directory that an earlier hearth left open is closed") {
    Temporary.directory { root =>
      val runs = Files.createDirectory(root.resolve("runs"))
      Files.setPosixFilePermissions(runs, PosixFilePermissions.fromString("rwxr-xr-x"))
      OwnFiles.keep(runs)
      assert(modeOf(runs) == "rwx------")
    }
  }

  test("a file is written for its owner alone, and not through a link that lies in its place") {
    Temporary.directory { root =>
      val target = Files.writeString(root.resolve("target"), "theirs")
      Seq("run.json", ".run.json.partial").foreach(name =>
        Files.createSymbolicLink(root.resolve(name), target)
      )
      OwnFiles.write(root.resolve("run.json"), "{}")
      assert(Files.readString(target) == "theirs")
      assert(Files.readString(root.resolve("run.json")) == "{}")
      assert(modeOf(root.resolve("run.json")) == "rw-------")
    }
  }

  test("an archive that another user could have written is not trusted") {
    Temporary.directory { root =>
      val cache = OwnFiles.keep(root.resolve("hearth"))
      val archive = Files.writeString(cache.resolve("executor-0.jsa"), "x")
      assert(OwnFiles.trusted(archive))
      assert(!OwnFiles.trusted(cache.resolve("absent.jsa")))
      giveAway(archive)
      assert(!OwnFiles.trusted(archive))
    }
  }

  test("state and cache are where the command line looks for them") {
    val cases = Json.parse(Files.readString(Project.file("fixtures/homes.json")), "homes.json")
    assert(cases.size > 5)
    cases.forEach { one =>
      val environment = (name: String) => Option(one.path("environment").get(name)).map(_.asText)
      val of = one.path("user_home").asText
      assert(Homes.state(environment, of).toString == one.path("state").asText, one)
      assert(Homes.cache(environment, of).toString == one.path("cache").asText, one)
    }
  }
}
