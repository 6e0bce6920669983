package chromefortesting

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// maxFiles and maxFilesBytes bound the extracted files. A version has some hundred files, with
	// less than 1 GB.
	maxFiles      = 20_000
	maxFilesBytes = 4 << 30
	// maxLink bounds the target of a symbolic link.
	maxLink = 1024
)

// unzip extracts an archive into a new directory. It returns an error if a file or the target of a
// symbolic link would be outside of it. Errors of the directory contain an *fs.PathError.
func unzip(ctx context.Context, archive, dir string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if len(z.File) > maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	x := &extraction{ctx: ctx, root: root, left: maxFilesBytes}
	// Links are last, so that no file is written through one.
	var links []*zip.File
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || strings.Contains(name, `\`) {
			return fmt.Errorf("it has a file with the invalid path %q", f.Name)
		}
		switch mode := f.Mode(); {
		case mode&fs.ModeSymlink != 0:
			links = append(links, f)
		case mode.IsDir():
			err = root.MkdirAll(name, 0o700)
		case mode.IsRegular():
			err = x.file(f)
		default:
			err = fmt.Errorf("%q is not a file, directory or link", f.Name)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range links {
		if err := x.link(f); err != nil {
			return err
		}
	}
	// The target of a link may lead through another link, so check where each one really leads.
	for _, f := range links {
		if _, err := root.Stat(f.Name); err != nil {
			return fmt.Errorf("the link %q leads out of the archive or to a missing file", f.Name)
		}
	}
	return nil
}

// An extraction writes the files of an archive.
type extraction struct {
	ctx  context.Context // of the one unzip
	root *os.Root
	left int64 // bytes that may still be written
}

func (x *extraction) file(f *zip.File) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	if err := x.root.MkdirAll(path.Dir(f.Name), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if f.Mode()&0o111 != 0 {
		mode = 0o700
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := x.root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	// The header may declare a smaller size than the file has.
	n, err := io.Copy(out, io.LimitReader(in, x.left+1))
	if x.left -= n; err == nil && x.left < 0 {
		err = fmt.Errorf("its files have more than %d bytes", int64(maxFilesBytes))
	}
	return errors.Join(err, out.Close())
}

func (x *extraction) link(f *zip.File) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	target, err := io.ReadAll(io.LimitReader(in, maxLink+1))
	if err != nil {
		return err
	}
	if len(target) > maxLink || !filepath.IsLocal(path.Join(path.Dir(f.Name), string(target))) || path.IsAbs(string(target)) {
		return fmt.Errorf("the link %q leads out of the archive", f.Name)
	}
	if err := x.root.MkdirAll(path.Dir(f.Name), 0o700); err != nil {
		return err
	}
	return x.root.Symlink(string(target), f.Name)
}
