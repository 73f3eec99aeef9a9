/**
 * What mail providers refuse because it runs or makes something run: Amazon SES's list of unsupported
 * attachment types, Gmail's list of blocked ones, and Microsoft's formats with macros. It is asked about the files in an
 * archive, and about the inner extensions of a name (`a.exe.pdf`). What may be attached at all is the list of allowed
 * formats in `allowedFormats.ts`: what is not in that one is refused anyway.
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

/** Whether mail providers block files with this extension, given without its dot, in any case. */
export function isBlockedExtension(extension: string): boolean {
  return blocked.has(extension.trim().toLowerCase());
}
