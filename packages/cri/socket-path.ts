import { realpathSync } from 'node:fs';
import { FleetGcError } from '../process/errors.ts';

const pathOf = (endpoint: string): string => endpoint.replace(/^unix:(\/\/)?/, '');

/** Whether it is `unix:///run/containerd/containerd.sock` or the path alone. */
export const isEndpoint = (endpoint: string): boolean => pathOf(endpoint).startsWith('/');

/** The path of the socket. Throws `CONFIG_INVALID` for what is no endpoint. */
export function socketPathOf(endpoint: string): string {
  if (isEndpoint(endpoint)) return pathOf(endpoint);
  throw new FleetGcError(
    'CONFIG_INVALID',
    `The runtime endpoint "${endpoint}" is neither unix:///path/to/socket nor an absolute path.`,
  );
}

/** The directories in which K3s and RKE2 have their socket: `/run/k3s/containerd/containerd.sock`. */
const IMPORTING_DIRECTORIES: ReadonlySet<string> = new Set(['k3s', 'rke2']);

/** Whether it is the socket of K3s or RKE2, which give images that they import all that a pull leaves (M12). */
export function isImportingSocket(endpoint: string): boolean {
  const path = socketPathOf(endpoint);
  return [path, resolved(path)].some((one) => one.split('/').some((name) => IMPORTING_DIRECTORIES.has(name)));
}

/** Where links lead, which installations set up at the usual place; the path itself where nothing is there yet. */
function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
