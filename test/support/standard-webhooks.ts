import { createRequire } from 'node:module';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface StandardWebhooks {
  readonly Webhook: new (secret: string) => { verify(body: string, headers: Headers): unknown };
}

/** The library by which receivers verify what Standard Webhooks sign. Its declarations want headers without lists, which Node has. */
export const { Webhook }: StandardWebhooks = createRequire(import.meta.url)('standardwebhooks');
