// AoiSync.cs - reads messages of aoi.sync; the format is in docs/sync-wire.md. One file without dependencies, for Unity
// and any other .NET (C# 7.3, .NET Standard 2.0).
//
//     readonly Aoi.Picture picture = new Aoi.Picture();
//     void OnMessage(byte[] bytes) { picture.Apply(bytes); }
//     void Update() { foreach (Aoi.Known it in picture.Known.Values) Draw(it.Id, it.X, it.Y, it.Number("hp")); }
//
// Apply all messages of a connection, in order: docs/client.md. Other bytes than those of a message are a
// MessageException that says what is wrong; then nothing has changed.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Aoi
{
    /// <summary>Bytes that are no message of aoi.sync.</summary>
    public sealed class MessageException : Exception
    {
        public MessageException(string why) : base("no message of aoi.sync: " + why) { }
    }

    public enum FieldType { Bool, U8, U16, U32, I8, I16, I32, F32, F64, Angle8, Angle16, String, Bytes }

    /// <summary>The value of a field: Number of all numeric types (angles in radians), Bytes of String and Bytes.</summary>
    public struct Value
    {
        public FieldType Type;
        public double Number;
        public byte[] Bytes;
        public bool Bool { get { return Number != 0; } }
        public string Text { get { return Bytes == null ? "" : Encoding.UTF8.GetString(Bytes); } }
    }

    /// <summary>An entity of a message: Id alone of what is gone; Kind of what appeared or is touched; the place of what
    /// appeared or moved, in world units, Z 0 in two dimensions.</summary>
    public struct Row
    {
        public long Id;
        public long Kind; // 64 bits of kinds
        public double X, Y, Z;
    }

    /// <summary>An entity that rides its carrier, at that offset from it; Carrier 0: it rides nothing any more.</summary>
    public struct Ride
    {
        public long Id, Carrier;
        public double X, Y, Z;
    }

    /// <summary>A field of an entity that has another value now.</summary>
    public struct Change
    {
        public long Id;
        public int Record; // of the message: an entity's fields come together
        public string Name;
        public Value Value;
    }

    /// <summary>What a message says, to be applied in this order. Anew: all that was known is forgotten first.</summary>
    public sealed class News
    {
        public bool Anew;
        public int Dimensions;
        public readonly List<long> Gone = new List<long>();
        public readonly List<int> Reasons = new List<int>(); // why each of Gone is; 0: out of view
        public readonly List<Row> Appeared = new List<Row>(), Moved = new List<Row>(), Touched = new List<Row>();
        public readonly List<Ride> Riding = new List<Ride>();
        public readonly List<Change> Fields = new List<Change>();

        internal void Clear()
        {
            Gone.Clear();
            Reasons.Clear();
            Appeared.Clear();
            Moved.Clear();
            Touched.Clear();
            Riding.Clear();
            Fields.Clear();
        }
    }

    /// <summary>An entity that the client knows. A field that was never sent is 0, false or empty. While it rides, its
    /// place is the offset from its carrier.</summary>
    public sealed class Known
    {
        public long Id, Kind, Carrier; // Carrier 0: none
        public double X, Y, Z;
        public readonly Dictionary<string, Value> Fields = new Dictionary<string, Value>();

        public double Number(string field) { Value v; return Fields.TryGetValue(field, out v) ? v.Number : 0; }
        public bool Bool(string field) { return Number(field) != 0; }
        public string Text(string field) { Value v; return Fields.TryGetValue(field, out v) ? v.Text : ""; }
        public byte[] Bytes(string field)
        {
            Value v;
            return Fields.TryGetValue(field, out v) && v.Bytes != null ? v.Bytes : new byte[0];
        }
    }

    /// <summary>What the client knows: the messages of one connection, applied in order.</summary>
    public sealed class Picture
    {
        public readonly Dictionary<long, Known> Known = new Dictionary<long, Known>();
        readonly News news = new News();
        readonly MessageReader reader = new MessageReader();

        /// <summary>Applies a message; returns what it says, valid until the next one.</summary>
        public News Apply(byte[] bytes) { return Apply(bytes, 0, bytes.Length); }

        public News Apply(byte[] bytes, int from, int count)
        {
            Known it;
            reader.Read(bytes, from, count, news);
            if (news.Anew) Known.Clear();
            foreach (long id in news.Gone) Known.Remove(id);
            foreach (Row row in news.Appeared)
                Known[row.Id] = new Known { Id = row.Id, Kind = row.Kind, X = row.X, Y = row.Y, Z = row.Z };
            foreach (Row row in news.Moved)
            {
                if (!Known.TryGetValue(row.Id, out it)) continue;
                it.X = row.X;
                it.Y = row.Y;
                it.Z = row.Z;
            }
            foreach (Row row in news.Touched) if (Known.TryGetValue(row.Id, out it)) it.Kind = row.Kind;
            foreach (Ride ride in news.Riding)
            {
                if (!Known.TryGetValue(ride.Id, out it)) continue;
                it.Carrier = ride.Carrier;
                if (ride.Carrier == 0) continue;
                it.X = ride.X;
                it.Y = ride.Y;
                it.Z = ride.Z;
            }
            foreach (Change change in news.Fields)
                if (Known.TryGetValue(change.Id, out it)) it.Fields[change.Name] = change.Value;
            return news;
        }
    }

    /// <summary>Reads the messages of one connection: keeps what has come of texts that are sent in parts.</summary>
    public sealed class MessageReader
    {
        const int Version = 2, Flag3D = 1, FlagAnew = 2, FlagFields = 4, FlagReasons = 8, FlagRiders = 16;
        const int FormWide = 1, FormCarrier = 2;
        const int TagMoved = 0, TagMovedTouched = 1, TagTouched = 2, TagAppeared = 3, TagGone = 4, TagMovedWide = 5,
            TagAppearedWide = 6, TagState = 7;
        const int Types = 13, MostName = 64, MostValue = 65535;
        const long MostQuanta = 9007199254740992;

        /// <summary>How the names of fields are spelled.</summary>
        public static Encoding Names = Encoding.UTF8;

        struct Field
        {
            public FieldType Type;
            public string Name;
        }

        sealed class Part
        {
            public byte[] Bytes;
            public int At;
        }

        [StructLayout(LayoutKind.Explicit)]
        struct Single
        {
            [FieldOffset(0)] public uint Bits;
            [FieldOffset(0)] public float Number;
        }

        byte[] bytes;
        int at, end, dimensions;
        uint records;
        bool anew, reasons, riders, rides;
        double quantum;
        long last, carrier;
        ulong fields;
        readonly long[] origin = new long[3];
        readonly double[] place = new double[3];
        readonly Field[] table = new Field[64];
        readonly Dictionary<long, Dictionary<string, Part>> parts = new Dictionary<long, Dictionary<string, Part>>();

        /// <summary>Reads a message into `news`, which is emptied first.</summary>
        public void Read(byte[] message, int from, int count, News news)
        {
            bytes = message;
            Begin(from, count);
            while (records > 0) Next(null); // all of it is sound, or nothing is reported
            Begin(from, count);
            news.Clear();
            news.Anew = anew;
            news.Dimensions = dimensions;
            if (anew) parts.Clear();
            while (records > 0) Next(news);
        }

        // ---- numbers ----------------------------------------------------------------------------------------------

        static void Refuse(string why) { throw new MessageException(why); }

        void Need(int size) { if (size > end - at) Refuse("it is cut off"); }

        int Byte()
        {
            Need(1);
            return bytes[at++];
        }

        ulong Varint(int bits)
        {
            ulong value = 0;
            for (int shift = 0; ; shift += 7)
            {
                int next = Byte(), low = next & 0x7F;
                if (shift >= bits || (bits - shift < 7 && low >> (bits - shift) != 0)) Refuse("a number is too large");
                value |= (ulong)low << shift;
                if ((next & 0x80) != 0) continue;
                if (next == 0 && shift > 0) Refuse("a number has more bytes than it needs");
                return value;
            }
        }

        static long FromZigzag(ulong z) { return (long)(z >> 1) ^ -(long)(z & 1); }

        double Finite(double v)
        {
            if (double.IsNaN(v) || double.IsInfinity(v)) Refuse("a number is not finite");
            return v;
        }

        double Double()
        {
            ulong bits = 0;
            Need(8);
            for (int i = 0; i < 8; i++) bits |= (ulong)bytes[at++] << 8 * i;
            return Finite(BitConverter.Int64BitsToDouble((long)bits));
        }

        double Float()
        {
            Single single = new Single();
            Need(4);
            for (int i = 0; i < 4; i++) single.Bits |= (uint)bytes[at++] << 8 * i;
            return Finite(single.Number);
        }

        long Quanta(long from)
        {
            long sum = from + FromZigzag(Varint(56));
            if (sum > MostQuanta || sum < -MostQuanta) Refuse("a position is out of range");
            return sum;
        }

        // ---- head -------------------------------------------------------------------------------------------------

        static double Power(double number, int n)
        {
            double power = 1;
            while (n-- > 0) power *= number;
            return power;
        }

        double Quantum()
        {
            int scale = Byte();
            if (scale == 0) return 0;
            if (scale < 17) return 1 / Power(10, scale - 1);
            if (scale < 49) return 1 / Power(2, scale - 17);
            if (scale != 255) Refuse("its quantum is unknown");
            double value = Double();
            if (!(value > 0)) Refuse("its quantum is not positive");
            return value;
        }

        void Table()
        {
            fields = Varint(64);
            if (fields == 0) Refuse("it has no fields");
            for (int k = 0; k < 64; k++)
            {
                if ((fields >> k & 1) == 0) continue;
                int type = Byte(), size = Byte();
                if (type >= Types) Refuse("a field has an unknown type");
                if (size == 0 || size > MostName) Refuse("the name of a field is empty or too long");
                Need(size);
                table[k] = new Field { Type = (FieldType)type, Name = Name(size, table[k].Name) };
                at += size;
            }
        }

        // The same string as ever where the same name stands at the same number: no garbage.
        string Name(int size, string old)
        {
            bool same = old != null && old.Length == size;
            for (int i = 0; same && i < size; i++) same = old[i] < 128 && old[i] == bytes[at + i];
            return same ? old : Names.GetString(bytes, at, size);
        }

        void Begin(int from, int count)
        {
            at = from;
            end = from + count;
            last = 0;
            fields = 0;
            int version = Byte(), flags = Byte();
            if (version != Version) Refuse("it is of another version");
            if ((flags & ~(Flag3D | FlagAnew | FlagFields | FlagReasons | FlagRiders)) != 0) Refuse("it has unknown flags");
            dimensions = (flags & Flag3D) != 0 ? 3 : 2;
            anew = (flags & FlagAnew) != 0;
            reasons = (flags & FlagReasons) != 0;
            riders = (flags & FlagRiders) != 0;
            quantum = Quantum();
            records = (uint)Varint(32);
            for (int a = 0; a < dimensions && quantum > 0; a++) origin[a] = Quanta(0);
            if ((flags & FlagFields) != 0) Table();
            if (records > end - at) Refuse("it is cut off");
            if (records == 0 && at != end) Refuse("bytes follow its last record");
        }

        // ---- records ----------------------------------------------------------------------------------------------

        int Tag()
        {
            int first = Byte();
            ulong high = 0;
            if ((first & 0x80) != 0 && (high = Varint(60)) == 0) Refuse("a number has more bytes than it needs");
            last = unchecked(last + FromZigzag(high << 4 | (ulong)(first >> 3 & 15)));
            return first & 7;
        }

        void Place(bool wide)
        {
            int form = wide && riders ? Byte() : wide ? FormWide : 0;
            if (wide && (form < FormWide || form > (FormWide | FormCarrier))) Refuse("a record has an unknown form");
            rides = (form & FormCarrier) != 0;
            wide = (form & FormWide) != 0;
            carrier = rides ? unchecked(last + FromZigzag(Varint(64))) : 0;
            place[2] = 0;
            for (int a = 0; a < dimensions; a++)
            {
                place[a] = wide ? Double() : quantum > 0 ? quantum * Quanta(carrier != 0 ? 0 : origin[a]) : Float();
                if (double.IsInfinity(place[a])) Refuse("a position is out of range");
            }
        }

        // One record; into `news`, unless it is null.
        void Next(News news)
        {
            int tag = Tag();
            bool appears = tag == TagAppeared || tag == TagAppearedWide, touches = tag == TagTouched || tag == TagMovedTouched;
            bool moves = tag == TagMoved || tag == TagMovedTouched || tag == TagMovedWide;
            long kind = appears || touches ? (long)Varint(64) : 0;
            rides = false;
            carrier = 0;
            if (appears || moves) Place(tag == TagMovedWide || tag == TagAppearedWide);
            if (tag == TagState) State(news);
            int reason = tag == TagGone && reasons ? Byte() : 0;
            if (--records == 0 && at != end) Refuse("bytes follow its last record");
            if (news == null) return;
            Row row = new Row { Id = last, Kind = kind, X = place[0], Y = place[1], Z = place[2] };
            if (appears || tag == TagGone) parts.Remove(last);
            if (tag == TagGone) news.Gone.Add(last);
            if (tag == TagGone) news.Reasons.Add(reason);
            if (appears) news.Appeared.Add(row);
            if (moves && carrier == 0) news.Moved.Add(row);
            if (rides)
                news.Riding.Add(carrier == 0 ? new Ride { Id = last }
                    : new Ride { Id = last, Carrier = carrier, X = place[0], Y = place[1], Z = place[2] });
            if (touches) news.Touched.Add(row);
        }

        // ---- state ------------------------------------------------------------------------------------------------

        void State(News news)
        {
            int record = news == null || news.Fields.Count == 0 ? 0 : news.Fields[news.Fields.Count - 1].Record + 1;
            ulong mask = Varint(64);
            if (mask == 0 || (mask & ~fields) != 0) Refuse("a record has unknown fields");
            for (int k = 0; k < 64; k++)
            {
                if ((mask >> k & 1) == 0) continue;
                Value value = new Value { Type = table[k].Type };
                bool whole = true;
                if (value.Type >= FieldType.String) whole = Text(table[k].Name, news != null, ref value);
                else value.Number = Number(value.Type);
                if (whole && news != null) news.Fields.Add(new Change { Id = last, Record = record, Name = table[k].Name, Value = value });
            }
        }

        double Number(FieldType type)
        {
            switch (type)
            {
                case FieldType.U16: return Varint(16);
                case FieldType.U32: return Varint(32);
                case FieldType.I16: return (short)FromZigzag(Varint(16));
                case FieldType.I32: return (int)FromZigzag(Varint(32));
                case FieldType.F32: return Float();
                case FieldType.F64: return Double();
            }
            int low = Byte();
            switch (type)
            {
                case FieldType.U8: return low;
                case FieldType.I8: return (sbyte)low;
                case FieldType.Angle8: return low * Math.PI / 128;
                case FieldType.Angle16: return (low | Byte() << 8) * Math.PI / 32768;
            }
            if (low > 1) Refuse("a bool is neither 0 nor 1");
            return low;
        }

        // A string or bytes, or a part; whether the value is complete with it. Only with `keep` anything is kept.
        bool Text(string name, bool keep, ref Value value)
        {
            int head = (int)Varint(17), length = head >> 1, offset = 0, total = length;
            if ((head & 1) != 0)
            {
                offset = (int)Varint(16);
                total = (int)Varint(16);
                if (length == 0 || length >= total || offset + length > total)
                    Refuse("a part of a value does not fit into it");
            }
            if (length > MostValue) Refuse("a value is too long");
            Need(length);
            int begin = at;
            at += length;
            if (!keep) return false;
            if (length == total)
            {
                value.Bytes = new byte[length];
                Buffer.BlockCopy(bytes, begin, value.Bytes, 0, length);
                return true;
            }
            return Join(name, begin, length, offset, total, ref value);
        }

        // A part that does not go on where the last one ended is of a text whose beginning was not read.
        bool Join(string name, int begin, int length, int offset, int total, ref Value value)
        {
            Dictionary<string, Part> waiting;
            Part part;
            if (!parts.TryGetValue(last, out waiting)) parts[last] = waiting = new Dictionary<string, Part>();
            if (offset == 0) part = new Part { Bytes = new byte[total] };
            else if (!waiting.TryGetValue(name, out part)) return false;
            waiting.Remove(name);
            if (part.At != offset || part.Bytes.Length != total) return false;
            Buffer.BlockCopy(bytes, begin, part.Bytes, offset, length);
            part.At += length;
            if (part.At < total) waiting[name] = part;
            value.Bytes = part.Bytes;
            return part.At == total;
        }
    }
}
