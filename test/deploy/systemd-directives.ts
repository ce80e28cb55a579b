/**
 * The directives that our units may use, by section: of systemd.unit, systemd.service, systemd.exec, systemd.kill and
 * systemd.resource-control those that fit a long-running service, in systemd 245 and later. systemd itself only warns of a
 * name that it does not know, and goes on without it.
 */
export const KNOWN_DIRECTIVES: Readonly<Record<string, ReadonlySet<string>>> = {
  Unit: names(`
    Description Documentation Requires Requisite Wants BindsTo PartOf Conflicts Before After OnFailure
    RequiresMountsFor StartLimitIntervalSec StartLimitBurst
    ConditionPathExists ConditionPathIsDirectory ConditionPathIsMountPoint ConditionFileIsExecutable
    AssertPathExists AssertPathIsDirectory AssertFileIsExecutable
  `),
  Service: names(`
    Type ExecStartPre ExecStart ExecStartPost ExecReload ExecStop ExecStopPost
    Restart RestartSec RestartPreventExitStatus RestartForceExitStatus SuccessExitStatus
    TimeoutStartSec TimeoutStopSec TimeoutAbortSec TimeoutSec WatchdogSec NotifyAccess OOMPolicy
    KillMode KillSignal SendSIGKILL FinalKillSignal
    User Group SupplementaryGroups DynamicUser WorkingDirectory RootDirectory RootDirectoryStartOnly MountAPIVFS UMask Nice OOMScoreAdjust
    Environment EnvironmentFile PassEnvironment UnsetEnvironment LoadCredential
    StandardOutput StandardError SyslogIdentifier LogRateLimitIntervalSec LogRateLimitBurst
    StateDirectory StateDirectoryMode RuntimeDirectory RuntimeDirectoryMode RuntimeDirectoryPreserve
    ConfigurationDirectory LogsDirectory
    ReadWritePaths ReadOnlyPaths InaccessiblePaths BindPaths BindReadOnlyPaths TemporaryFileSystem
    ProtectSystem ProtectHome ProtectKernelTunables ProtectKernelModules ProtectKernelLogs ProtectControlGroups
    ProtectClock ProtectHostname ProtectProc ProcSubset PrivateTmp PrivateDevices PrivateNetwork PrivateUsers
    NoNewPrivileges CapabilityBoundingSet AmbientCapabilities LockPersonality MemoryDenyWriteExecute RemoveIPC
    RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID
    SystemCallArchitectures SystemCallErrorNumber SystemCallFilter
    LimitNOFILE LimitNPROC LimitCORE LimitMEMLOCK
    Slice Delegate MemoryMin MemoryLow MemoryHigh MemoryMax MemorySwapMax CPUQuota CPUWeight IOWeight TasksMax
    IPAddressAllow IPAddressDeny
  `),
  Install: names('Alias WantedBy RequiredBy Also DefaultInstance'),
};

function names(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** What is wrong with the lines of a unit: `[Service] RestartSecs`, or a line that is no directive; empty when nothing is. */
export function unknownLines(unit: string): readonly string[] {
  let section = '';
  return unit.split('\n').flatMap((line) => {
    if (line === '' || /^[#;]/.test(line)) return [];
    if (!line.startsWith('[')) return isKnown(section, line) ? [] : [`[${section}] ${line.split('=')[0]}`];
    section = line.slice(1, -1);
    return Object.hasOwn(KNOWN_DIRECTIVES, section) ? [] : [line];
  });
}

function isKnown(section: string, line: string): boolean {
  const [name = '', ...value] = line.split('=');
  return value.length > 0 && KNOWN_DIRECTIVES[section]?.has(name) === true;
}
