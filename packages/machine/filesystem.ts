import type { FilesystemReadings } from '../../schemas/events/filesystem.ts';

/** Measures the node's filesystems. On a real node `statfs`; on a simulated one the simulator's own disk. */
export interface FilesystemReader {
  /** A filesystem that cannot be read is `null`; this never rejects. */
  read(): Promise<FilesystemReadings>;
}
