import { z } from 'zod';
import { ListenAddress, withMeta } from '../../packages/process/options/options.ts';

/** Every verb has these; `defineVerb` adds them. */
export const loggingOptions = {
  logLevel: withMeta(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).prefault('info'),
    {
      description: 'Least severe messages to write to stderr.',
    },
  ),
};

/** For verbs that serve: health and metrics. Each verb has a port of its own, since agents share a node. */
export const httpOptions = (port: number) => ({ httpAddress: probing(`127.0.0.1:${port}`) });

/** The same for a verb whose `--http-address` is for people. */
export const probeOptions = { probeAddress: probing('none') };

function probing(usual: string) {
  const address = z.union([z.literal('none').transform(() => null), ListenAddress], {
    error: 'must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464, or none',
  });
  return withMeta(address.prefault(usual), {
    placeholder: 'HOST:PORT|none',
    description: 'Where to serve /livez, /readyz and /metrics.',
  });
}
