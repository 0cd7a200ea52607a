; The installer for Windows, by Inno Setup: untested so far. From the checkout, after PyInstaller:
;   iscc /DVersion=0.1.0 installer\packaging\windows\sfumato.iss

[Setup]
AppId=Sfumato
AppName=Sfumato
AppVersion={#Version}
AppPublisher=The makers of Sfumato
DefaultDirName={autopf}\Sfumato
DefaultGroupName=Sfumato
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
ChangesAssociations=yes
Compression=lzma2
SolidCompression=yes
SourceDir=..\..\..
OutputDir=dist
OutputBaseFilename=sfumato-{#Version}-setup
UninstallDisplayIcon={app}\sfumato.exe

[Files]
Source: "dist\sfumato\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion
Source: "NOTICE.md"; DestDir: "{app}"

[InstallDelete]
; Of an older version nothing stays beside the new one. Settings and projects lie elsewhere.
Type: filesandordirs; Name: "{app}\_internal"

[Icons]
Name: "{group}\Sfumato"; Filename: "{app}\sfumato.exe"

[Registry]
Root: HKA; Subkey: "Software\Classes\.sfumato"; ValueType: string; ValueData: "Sfumato.Project"; Flags: uninsdeletevalue
Root: HKA; Subkey: "Software\Classes\Sfumato.Project"; ValueType: string; ValueData: "Sfumato project"; Flags: uninsdeletekey
Root: HKA; Subkey: "Software\Classes\Sfumato.Project\DefaultIcon"; ValueType: string; ValueData: "{app}\sfumato.exe,0"
Root: HKA; Subkey: "Software\Classes\Sfumato.Project\shell\open\command"; ValueType: string; ValueData: """{app}\sfumato.exe"" ""%1"""
