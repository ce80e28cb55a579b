import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { OfferedSocket } from '../../../packages/cri/proxy/reading-proxy.ts';
import { FilePath, Text, withMeta } from '../../../packages/process/options/options.ts';
import { configError } from '../../../packages/process/options/read-options.ts';

/** The socket that is offered. */
export const socketOptions = {
  proxySocket: withMeta(FilePath.prefault('/run/fleetgc-cri/cri.sock'), {
    placeholder: 'PATH',
    description: 'Where to offer the socket for reading; its directory must be there.',
  }),
  proxySocketMode: withMeta(
    Text.refine((mode) => /^0?[0-7]{2}0$/.test(mode), {
      error: 'must be permissions such as 0660, with none for everybody',
    })
      .transform((mode) => Number.parseInt(mode, 8))
      .prefault('0660'),
    { placeholder: 'MODE', description: 'Permissions of that socket; whoever may write to it may ask.' },
  ),
  proxySocketGroup: withMeta(Text.optional(), {
    placeholder: 'GROUP',
    description: "Group of that socket, by name or number; the process's own when not given.",
  }),
};

const SocketOptions = z.object(socketOptions);

/** Throws `CONFIG_INVALID` for a group that the machine does not know. */
export const offeredSocket = ({
  proxySocket,
  proxySocketMode,
  proxySocketGroup,
}: z.infer<typeof SocketOptions>): OfferedSocket => ({
  path: proxySocket,
  mode: proxySocketMode,
  groupId: proxySocketGroup === undefined ? null : groupId(proxySocketGroup),
});

const GROUPS = '/etc/group';

/** Node.js cannot ask for the number of a group. One that a directory service knows is given by its number. */
function groupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const line = readFileSync(GROUPS, 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${group}:`));
  const number = line?.split(':')[2];
  if (number !== undefined) return Number(number);
  throw configError([`--proxy-socket-group: ${GROUPS} has no group ${group}; give its number`]);
}
