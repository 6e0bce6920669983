package download

import (
	"slices"
	"strings"
)

// executable reports whether a system runs, installs, mounts or applies a file with this name on a
// double click. Files are saved without the x bit, so names without an extension are safe.
func executable(name string) bool {
	_, ext := splitExt(name)
	ext = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(ext, ".")))
	_, found := slices.BinarySearch(executables, ext)
	return found
}

// executables lists extensions in sorted order: those of scripts, and those that browsers warn
// about before they save a file, except archives, documents with macros and web pages.
var executables = func() []string {
	list := strings.Fields(`
		ade adp apk app appimage appinstaller applescript application appref-ms appx appxbundle
		bas bash bash_profile bat chm cjs class cmd com command cpl crt crx csh
		deb desktop dex diagcab diagcfg diagpkg dll dmg drv dylib efi elf exe
		fileloc fish flatpak flatpakref fon gadget grp hlp hta htc
		img imgpart inetloc inf ins inx ipa iso isp isu jar jnlp job js jse
		kext ksh library-ms lnk mad maf mag mam maq mar mas mau mav maw mjs mobileconfig mof mpkg msc msh
		msh1 msh1xml msh2 msh2xml mshxml msi msix msixbundle msp mst msu
		ocx ops osx pcd pif pkg pl plg pm prefpane prf prg ps1 ps1xml ps2 ps2xml psc1 psc2 psd1 psm1 py
		pyc pyd pyo pyw pyz rb reg rgs rpm run scf scpt scptd scr sct search-ms searchconnector-ms service
		settingcontent-ms sh shb shs slp snap so sparsebundle sparseimage sys
		terminal theme themepack tool u3p udif url vb vbe vbs vbscript vhd vhdx vmdk vsmacros
		webloc website wflow wll workflow ws wsc wsf wsh xbap xip xll xnk xpi xrm-ms
		zsh`)
	slices.Sort(list)
	return list
}()
