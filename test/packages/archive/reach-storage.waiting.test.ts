import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { fleetgc } from '../../cli/fleetgc.ts';
import { OTHER_PAIR, PAIR } from '../../fixtures/certificate.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { checked } from '../audit/support/archives.ts';
import { type Asked, answering } from './support/answering.ts';

afterEach(() => void vi.unstubAllEnvs());

/** What is here of somebody else does not count. */
function onlyThese(environment: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  const none = join(temporaryDirectory(), 'none');
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, none);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
}

function fileOf(content: string): string {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, content);
  return path;
}

const KEYS = { AWS_ACCESS_KEY_ID: 'of-variables', AWS_SECRET_ACCESS_KEY: 'a-secret' };
const EXPIRES = '2099-01-01T00:00:00Z';

/** The chain of AWS's own tools, as far as it can be followed on one machine. */
test.each<{ from: string; environment: (url: string) => Record<string, string> }>([
  { from: 'of-variables', environment: () => KEYS },
  {
    from: 'of-profile',
    environment: () => ({
      AWS_PROFILE: 'archiver',
      AWS_SHARED_CREDENTIALS_FILE: fileOf(
        '[archiver]\naws_access_key_id = of-profile\naws_secret_access_key = a-secret\n',
      ),
    }),
  },
  {
    from: 'of-container',
    environment: (url) => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/container` }),
  },
  {
    from: 'of-service-account',
    environment: (url) => ({
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/archiver',
      AWS_WEB_IDENTITY_TOKEN_FILE: fileOf('a-token'),
      AWS_ENDPOINT_URL_STS: url,
      AWS_REGION: 'eu-central-1',
    }),
  },
])(
  'credentials come from where those of the tools of AWS come from: $from',
  async ({ from, environment }) => {
    const { place, asked } = await answering(({ method, url }, response) => {
      if (url === '/container') response.end(JSON.stringify(CREDENTIALS));
      else if (method === 'POST') response.end(ASSUMED);
      else response.writeHead(404).end();
    });
    onlyThese(environment(place.endpoint ?? ''));
    await expect(checked(place)).rejects.toMatchObject({ code: 'STATE_UNREADABLE' });
    const listed = asked.find(({ url }) => url.includes('list-type'));
    expect(listed?.headers.authorization).toContain(`Credential=${from}/`);
  },
);

const CREDENTIALS = {
  AccessKeyId: 'of-container',
  SecretAccessKey: 'a-secret',
  Token: 'a-token',
  Expiration: EXPIRES,
};
const ASSUMED = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>of-service-account</AccessKeyId>
  <SecretAccessKey>a-secret</SecretAccessKey><SessionToken>a-token</SessionToken>
  <Expiration>${EXPIRES}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>`;

test('without credentials anywhere it says where they are looked for', async () => {
  const { place, asked } = await answering((_, response) => response.end());
  onlyThese({});
  await expect(checked(place)).rejects.toMatchObject({
    message: expect.stringContaining('there are no credentials'),
  });
  expect(asked).toEqual([]);
});

test('without a region anywhere it says so', async () => {
  onlyThese(KEYS);
  const { place } = await answering((_, response) => response.end(), { region: null });
  await expect(checked(place)).rejects.toMatchObject({
    message: expect.stringContaining('give --s3-region'),
  });
});

test('a certificate is trusted that the authority of the options signed, and no other', async () => {
  onlyThese(KEYS);
  const nothing = (_: Asked, response: { end(text: string): unknown }): void =>
    void response.end('<?xml version="1.0"?><ListBucketResult></ListBucketResult>');
  const trusted = await answering(nothing, { pair: PAIR, caPem: PAIR.certificate });
  await expect(checked(trusted.place)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  for (const caPem of [null, OTHER_PAIR.certificate]) {
    const other = await answering(nothing, { pair: PAIR, caPem });
    await expect(checked(other.place)).rejects.toMatchObject({
      message: expect.stringContaining('--s3-ca-file'),
    });
    expect(other.asked).toEqual([]);
  }
});

test('the secret of the credentials is told to nobody, whatever the storage answers', async () => {
  const secret = 'nobody-may-read-this';
  const { place, asked } = await answering((_, response) => {
    response.writeHead(403, { 'content-type': 'application/xml' });
    response.end('<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>');
  });
  const { exitCode, stdout, stderr } = await fleetgc(
    [
      ...['audit', 'archive', 'check', '--archive', 's3://audit/archive', '--log-level', 'trace'],
      ...['--s3-endpoint', place.endpoint ?? '', '--s3-region', 'eu-central-1', '--s3-path-style'],
    ],
    { environment: { AWS_ACCESS_KEY_ID: 'somebody', AWS_SECRET_ACCESS_KEY: secret } },
  );
  expect({ exitCode, told: `${stdout}${stderr}`.includes(secret) }).toEqual({ exitCode: 1, told: false });
  expect(stderr).toContain('does not know these credentials');
  expect(JSON.stringify(asked)).not.toContain(secret);
});
