/** Where the kubelet keeps logs. */
export interface PodLogRoots {
  /** Root of all logs, `/var/log/pods`. */
  readonly podLogsDir: string;
  /** Flat symlinks to them, `/var/log/containers`. */
  readonly containerLogsDir: string;
}
