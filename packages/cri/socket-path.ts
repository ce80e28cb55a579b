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
