// Lists of revoked certificates (CRLs) of the authorities whose clients may connect: reads and checks the file, and says
// whether a certificate is in a list. OpenSSL checks new connections by the same lists; this is for those that are open.
// Node has no reader of CRLs, so this takes their few fields out of the DER, which OpenSSL has accepted by then.

import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { type Reading, readPemText } from "./pem-files.ts";

const NAME = "ROWLOCK_TLS_CLIENT_CRL";
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
const PEM = /-----BEGIN X509 CRL-----([\s\S]+?)-----END X509 CRL-----/g;

/** The lists as PEM, each by itself: Node takes only the first of a text. null: none is set, or there are faults. */
export function readCrls(path: string | null, reading: Reading): readonly string[] | null {
  const { faults } = reading;
  const text = readPemText(NAME, path, reading);
  if (text === null) return null;
  const crls = text.match(PEM) ?? [];
  try {
    if (crls.length === 0) throw new Error("no list");
    createSecureContext({ crl: crls });
    for (const crl of crls) checkDate(listOf(crl), faults);
    return crls;
  } catch {
    // OpenSSL's message helps nobody, and may quote the file.
    faults.push(
      `${NAME} does not hold lists of revoked certificates in PEM form: name a file that begins with -----BEGIN X509 CRL-----.`,
    );
    return null;
  }
}

function checkDate({ nextUpdate }: RevokedList, faults: string[]): void {
  if (nextUpdate !== null && nextUpdate.getTime() < Date.now())
    faults.push(
      `${NAME} has a list that should have been renewed by ${nextUpdate.toISOString()}: TLS refuses every client by it. Get the new one.`,
    );
}

/** What lists name a certificate by. */
export interface Certified {
  /** As `nameText` has it. */
  readonly issuer: string;
  /** In hexadecimal. */
  readonly serial: string;
}

/** null: one has not signed the one before it. Clients send their issuers, and could send another one of the same name. */
export function chainOf(raws: readonly Buffer[]): readonly Certified[] | null {
  const certificates = raws.map((raw) => new X509Certificate(raw));
  const isWhole = certificates.every((certificate, at) => {
    const issuer = certificates[at + 1];
    return issuer === undefined || certificate.verify(issuer.publicKey);
  });
  return isWhole ? raws.map(certificateFields) : null;
}

/** Whether one of the lists names one of the certificates. Costs little: it is asked for all connections at once. */
export function hasRevoked(chain: readonly Certified[], crls: readonly string[]): boolean {
  const lists = crls.map(listOf);
  return chain.some((certificate) =>
    lists.some((list) => list.issuer === certificate.issuer && list.serials.has(certificate.serial)),
  );
}

/** The authorities among these certificates, as PEM, that have no list: TLS refuses every client below them. */
export function withoutList(authorities: string, crls: readonly string[]): readonly string[] {
  const listed = new Set(crls.map((crl) => listOf(crl).issuer));
  const certificates = (authorities.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
  const unlisted = certificates.filter(({ raw }) => !listed.has(certificateFields(raw).subject));
  return unlisted.map(({ subject }) => subject);
}

interface RevokedList {
  readonly issuer: string;
  readonly nextUpdate: Date | null;
  readonly serials: ReadonlySet<string>;
}

const LISTS = new Map<string, RevokedList>();
const LISTS_MAX = 100;

/** Read once: lists are long, and asked for each connection. */
function listOf(crl: string): RevokedList {
  const known = LISTS.get(crl);
  if (known) return known;
  if (LISTS.size >= LISTS_MAX) LISTS.clear();
  const read = readList(Buffer.from(crl.replaceAll(/-----[^-]+-----|\s/g, ""), "base64"));
  LISTS.set(crl, read);
  return read;
}

const TAG = {
  integer: 0x02,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmp: 0x1e,
  sequence: 0x30,
  version: 0xa0,
} as const;
/** UTF8String, PrintableString, TeletexString, IA5String, VisibleString and BMPString. */
const TEXTS: ReadonlySet<number> = new Set([0x0c, 0x13, 0x14, 0x16, 0x1a, TAG.bmp]);

/** CertificateList of RFC 5280: version, algorithm, issuer, this update, next update, revoked certificates, extensions. */
function readList(der: Buffer): RevokedList {
  const [tbs] = partsOf(partOf(der).content);
  const fields = partsOf((tbs as Part).content);
  if (fields[0]?.tag === TAG.integer) fields.shift();
  const [, issuer, , ...rest] = fields as [Part, Part, Part, ...Part[]];
  const isTime = rest[0]?.tag === TAG.utcTime || rest[0]?.tag === TAG.generalizedTime;
  const nextUpdate = isTime ? timeOf(rest.shift() as Part) : null;
  const revoked = rest[0]?.tag === TAG.sequence ? partsOf(rest[0].content) : [];
  const serials = new Set(revoked.map(({ content }) => partOf(content).content.toString("hex")));
  return { issuer: nameText(issuer), nextUpdate, serials };
}

/** TBSCertificate of RFC 5280: version, serial number, algorithm, issuer, validity, subject, and more. */
function certificateFields(der: Buffer) {
  const [tbs] = partsOf(partOf(der).content);
  const fields = partsOf((tbs as Part).content);
  if (fields[0]?.tag === TAG.version) fields.shift();
  const [serial, , issuer, , subject] = fields as [Part, Part, Part, Part, Part];
  return { serial: serial.content.toString("hex"), issuer: nameText(issuer), subject: nameText(subject) };
}

/** The same text for names that TLS takes for the same: in several kinds of text, with other spaces, in another case. */
function nameText({ content }: Part): string {
  const sets = partsOf(content).map((set) => partsOf(set.content).map(({ content }) => partsOf(content)));
  return JSON.stringify(
    sets.map((set) =>
      set.map(([kind, text]) => [(kind as Part).content.toString("hex"), foldedText(text as Part)]),
    ),
  );
}

function foldedText({ tag, content, whole }: Part): string {
  if (!TEXTS.has(tag)) return whole.toString("hex");
  const text = tag === TAG.bmp ? Buffer.from(content).swap16().toString("utf16le") : content.toString();
  return text.toLowerCase().trim().replaceAll(/\s+/g, " ");
}

/** `YYMMDDhhmmssZ`, where 50 and above are of the last century, or `YYYYMMDDhhmmssZ`. */
function timeOf({ tag, content }: Part): Date {
  const text = content.toString("latin1");
  const century = text.startsWith("5") || /^[6-9]/.test(text) ? "19" : "20";
  const full = tag === TAG.utcTime ? century + text : text;
  return new Date(full.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d).*$/, "$1-$2-$3T$4:$5:$6Z"));
}

interface Part {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and length. */
  readonly whole: Buffer;
}

function partsOf(der: Buffer): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < der.length; ) {
    const part = partOf(der, at);
    parts.push(part);
    at += part.whole.length;
  }
  return parts;
}

/** Throws a RangeError beyond the end of the text. */
function partOf(der: Buffer, at = 0): Part {
  const first = der.readUInt8(at + 1);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes);
  const from = at + 2 + lengthBytes;
  return {
    tag: der.readUInt8(at),
    content: der.subarray(from, from + length),
    whole: der.subarray(at, from + length),
  };
}
