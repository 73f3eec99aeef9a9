/**
 * The extensions that mail providers refuse because such files run or make something run: Amazon SES's list of
 * unsupported attachment types, Gmail's list of blocked ones, and Microsoft's formats with macros. It applies to the
 * files in an archive and to the inner extensions of a name (`a.exe.pdf`). An attachment's own extension must be in the
 * list in `allowedFormats.ts`.
 */
const BLOCKED = `
  ade adp app asp bas bat cer chm cmd com cpl crt csh der exe fxp gadget hlp hta inf ins isp its js jse ksh lib
  lnk mad maf mag mam maq mar mas mat mau mav maw mda mdb mde mdt mdw mdz msc msh msh1 msh2 mshxml msh1xml
  msh2xml msi msp mst ops pcd pif plg prf prg reg scf scr sct shb shs sys ps1 ps1xml ps2 ps2xml psc1 psc2 tmp
  url vb vbe vbs vps vsmacros vss vst vsw vxd ws wsc wsf wsh xnk
  apk appx appxbundle cab diagcab diagcfg diagpkg dll dmg ex ex_ img iso jar jnlp mjs msix msixbundle nsh vhd xll
  docm dotm xlsm xltm xlam xla pptm potm ppam ppsm sldm
`;

const blocked: ReadonlySet<string> = new Set(BLOCKED.trim().split(/\s+/));

/** Whether mail providers block files with this extension (without its dot, upper or lower case). */
export function isBlockedExtension(extension: string): boolean {
  return blocked.has(extension.trim().toLowerCase());
}
