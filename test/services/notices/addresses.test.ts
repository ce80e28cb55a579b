import { expect, test } from 'vitest';
import { isRefusedAddress, readTarget } from '../../../services/notices/http.ts';

test.each([
  '169.254.169.254',
  '169.254.0.1',
  '169.254.255.255',
  'fe80::1',
  'FE80::1',
  'febf:ffff::1',
  'fe80::1%eth0',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  'fd00:ec2::254',
  'fd00:0ec2:0:0:0:0:0:254',
  'fd20:ce::254',
  '100.100.100.200',
  '::ffff:100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'localhost',
  '',
])('no notice goes to %s', (address) => {
  expect(isRefusedAddress(address)).toBe(true);
});

test.each([
  '127.0.0.1',
  '::1',
  '10.0.0.1',
  '192.168.1.1',
  '169.253.255.255',
  '169.255.0.0',
  '8.8.8.8',
  'fec0::1',
  'fe7f::1',
  'fd00:ec2::253',
  '2001:db8::1',
  '::ffff:10.0.0.1',
  '2002:a00:1::1',
  '::',
])('notices may go to %s', (address) => {
  expect(isRefusedAddress(address)).toBe(false);
});

test.each([
  ['http://169.254.169.254/latest/meta-data', 'link-local'],
  ['http://2852039166/', 'link-local'],
  ['http://0xa9.0xfe.0xa9.0xfe/', 'link-local'],
  ['http://0251.0376.0251.0376/', 'link-local'],
  ['http://169.254.169.254./', 'link-local'],
  ['http://①⑥⑨.254.169.254/', 'link-local'],
  ['http://[::ffff:169.254.169.254]/', 'link-local'],
  ['http://[fe80::1]/', 'link-local'],
  ['https://user@hooks.example/', 'no user'],
  ['https://:secret@hooks.example/', 'no password'],
  ['https://hooks.example/#a', 'behind #'],
  ['ftp://hooks.example/', 'must begin with https://'],
  ['file:///etc/passwd', 'must begin with https://'],
  ['hooks.example', 'is no address'],
])('%s is refused when the file is read', (url, why) => {
  expect(() => readTarget({ name: 'pager', url })).toThrow(why);
});

test('of an address nothing is shown but its host: the path may be a secret', () => {
  expect(readTarget({ name: 'chat', url: 'https://hooks.slack.example:8443/T0/B0/secret' }).shown).toBe(
    'hooks.slack.example:8443',
  );
});
